// What a round streams and what it answers are the same text.
#include "treaty/turns/turn_run.h"

#include <doctest/doctest.h>

#include <latch>
#include <thread>

#include "treaty/testing/engine_fixture.h"

namespace treaty::turns {
namespace {

using testing::EngineFixture;
using testing::says;

struct Streamed {
  std::string deltas{};
  std::string answer{};
};

// Remembers the thread that it worked on.
class Watched final : public Renderer {
 public:
  std::string_view format() const override { return testing::answer_renderer().format(); }
  std::string_view content_type() const override {
    return testing::answer_renderer().content_type();
  }
  Rendered render(const SettledTurn& turn, contracts::Dialect dialect) const override {
    thread = std::this_thread::get_id();
    return testing::answer_renderer().render(turn, dialect);
  }
  std::string render(const Refusal& refusal, contracts::Dialect dialect,
                     std::string answer_id) const override {
    return testing::answer_renderer().render(refusal, dialect, std::move(answer_id));
  }
  std::string respell(const std::string& body, contracts::Dialect dialect) const override {
    return testing::answer_renderer().respell(body, dialect);
  }
  int status_of(std::string_view error_code) const override {
    return testing::answer_renderer().status_of(error_code);
  }

  mutable std::thread::id thread{};
};

std::string large_text() {
  std::string text;
  while (text.size() <= 2 * kManyBytes) text += "Some more words of a long answer.\n";
  return text;
}

std::string text_of(const Outcome& outcome) {
  const auto& turn = std::get<SettledTurn>(outcome.source);
  return std::get<contracts::FinalResponse>(turn.answer).primary_output_text;
}

Streamed stream_turn(EngineFixture& fixture) {
  auto request = testing::user_turn("t1", "Hello.");
  std::get<contracts::UserTurn>(request.scenario).streaming = true;
  const auto log = fixture.begin(request);
  const auto outcome = fixture.run(log->outcome());
  const auto& turn = std::get<SettledTurn>(outcome->source);
  return {log->text(), std::get<contracts::FinalResponse>(turn.answer).primary_output_text};
}

}  // namespace

TEST_CASE("The deltas of a turn are its sealed answer") {
  for (const char* text :
       {"one two three", "{\"a\": [1, 2]}", "see data:;base64,QUJD and more", ""}) {
    EngineFixture fixture;
    fixture.answers = {says(text)};

    const Streamed streamed = stream_turn(fixture);

    CHECK(streamed.deltas == streamed.answer);
    CHECK(streamed.answer == seal(text).text);
  }
}

TEST_CASE("An answer that the backend did not stream is streamed at the end") {
  EngineFixture fixture;
  fixture.answers = {{.output = json::ObjectText{{"a", 1}}, .finish_reason = "stop"}};

  const Streamed streamed = stream_turn(fixture);

  CHECK(streamed.answer == "```json\n{\"a\":1}\n```");
  CHECK(streamed.deltas == streamed.answer);
}

TEST_CASE("If a backend streams another text than it answers, the streamed one is the answer") {
  EngineFixture fixture;
  fixture.answers = {says("An answer.")};
  fixture.streamed = "Something else data";

  const Streamed streamed = stream_turn(fixture);

  CHECK(streamed.answer == "Something else data");
  CHECK(streamed.deltas == streamed.answer);
}

TEST_CASE("A large answer is worked on beside the event loop, a small one on it") {
  const Watched renderer;
  EngineFixture fixture;
  OffloadPool pool({});
  fixture.worker().pool = &pool;
  const auto outcome_of = [&](const char* turn_id, std::string text) {
    fixture.answers = {says(std::move(text))};
    auto submission = testing::submission(testing::user_turn(turn_id));
    submission.renderer = &renderer;
    const auto log = fixture.run(fixture.engine().execute(fixture.worker(), submission));
    return fixture.run(log->outcome());
  };

  CHECK(text_of(*outcome_of("t1", "A word.")) == "A word.");
  CHECK(renderer.thread == std::this_thread::get_id());
  CHECK(text_of(*outcome_of("t2", large_text())) == large_text());
  CHECK(renderer.thread != std::this_thread::get_id());
}

TEST_CASE("While a large answer is worked on, the event loop serves other turns") {
  for (const bool streams : {false, true}) {
    std::latch go_on{1};
    EngineFixture fixture;
    OffloadPool pool({.threads = 1});
    pool.post([&] { go_on.wait(); });
    fixture.worker().pool = &pool;
    fixture.answers = {says(large_text()), says("A word.")};
    fixture.streamed_whole = true;
    auto request = testing::user_turn("t1");
    std::get<contracts::UserTurn>(request.scenario).streaming = streams;
    auto other = testing::user_turn("t1");
    other.session_id = "s2";

    const auto large = fixture.begin(request);
    CHECK(text_of(fixture.execute(other)) == "A word.");
    CHECK(large->outcome_now() == nullptr);
    CHECK(large->text().empty());
    go_on.count_down();

    CHECK(text_of(*fixture.run(large->outcome())) == large_text());
    CHECK(large->text() == (streams ? large_text() : ""));
  }
}

TEST_CASE("If too much is waiting for the pool, a large answer is worked on at once") {
  std::latch go_on{1};
  std::latch began{1};
  EngineFixture fixture;
  OffloadPool pool({.threads = 1, .most_waiting = 1});
  pool.post([&] {
    began.count_down();
    go_on.wait();
  });
  began.wait();
  pool.post([] {});
  fixture.worker().pool = &pool;
  fixture.answers = {says(large_text())};

  CHECK(text_of(fixture.execute(testing::user_turn("t1"))) == large_text());
  go_on.count_down();
}

}  // namespace treaty::turns
