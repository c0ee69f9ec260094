// What a round streams and what it answers are the same text.
#include "treaty/turns/turn_run.h"

#include <doctest/doctest.h>

#include "treaty/testing/engine_fixture.h"

namespace treaty::turns {
namespace {

using testing::EngineFixture;
using testing::says;

struct Streamed {
  std::string deltas{};
  std::string answer{};
};

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

}  // namespace treaty::turns
