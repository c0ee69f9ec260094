#include "treaty/api/endpoints/streams.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdint>
#include <functional>

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/base/json.h"
#include "treaty/http/event_stream.h"
#include "treaty/testing/generators.h"

namespace treaty::api {
namespace {

namespace asio = boost::asio;
using contracts::Dialect;
using turns::StreamEvent;

const turns::Opening kOpening{"s1", "turn/7", "General"};

std::shared_ptr<const turns::Outcome> some_outcome() {
  return std::make_shared<const turns::Outcome>(turns::outcome_of(
      {turns::Reason::turn_expired, "Too late."}, invoke_result_renderer(), Dialect::pascal));
}

std::string text_of(StreamForm form, Dialect dialect, const std::vector<StreamEvent>& events) {
  TurnText text(form, invoke_result_renderer(), dialect);
  std::string out;
  for (const StreamEvent& event : events) text.append(out, event);
  return out;
}

TEST_CASE("a round is turn.started, deltas and turn.result, each with its id") {
  const auto outcome = some_outcome();

  CHECK(text_of(StreamForm::events, Dialect::pascal,
                {{4, kOpening}, {5, turns::Delta{"Hi \"you\"\n"}}, {6, outcome}}) ==
        "id: 4\nevent: turn.started\n"
        "data: {\"SessionId\":\"s1\",\"TurnId\":\"turn/7\",\"ModeDisplayName\":\"General\"}\n\n"
        "id: 5\nevent: output.delta\ndata: {\"DeltaText\":\"Hi \\\"you\\\"\\n\"}\n\n"
        "id: 6\nevent: turn.result\ndata: " +
            outcome->body + "\n\n");
}

TEST_CASE("names of events follow the dialect, and so does the result") {
  const std::string text = text_of(StreamForm::events, Dialect::camel,
                                   {{1, kOpening}, {2, turns::Delta{"x"}}, {3, some_outcome()}});

  CHECK(text.contains(R"({"sessionId":"s1","turnId":"turn/7","modeDisplayName":"General"})"));
  CHECK(text.contains(R"({"deltaText":"x"})"));
  CHECK(text.contains(R"("errorCode":"turn_expired")"));
}

TEST_CASE("lines are partial ones with their index and one final with the result") {
  const auto outcome = some_outcome();

  CHECK(text_of(StreamForm::lines, Dialect::pascal,
                {{7, kOpening},
                 {8, turns::Delta{"a"}, 4},
                 {9, turns::Delta{"b"}, 5},
                 {10, outcome, 6}}) ==
        "{\"kind\":\"partial\",\"deltaText\":\"a\",\"index\":4}\n"
        "{\"kind\":\"partial\",\"deltaText\":\"b\",\"index\":5}\n"
        "{\"kind\":\"final\",\"index\":6,\"final\":" +
            outcome->body + "}\n");
}

TEST_CASE("any text of a model arrives as it was, fake events and all") {
  CHECK(rc::check([] {
    const std::string said = *testing::any_text() + "\n\nevent: turn.result\ndata: {}\n\n";

    const std::string text =
        text_of(StreamForm::events, Dialect::pascal, {{9, turns::Delta{said}}});

    http::EventStreamReader reader;
    reader.feed(text);
    const auto event = reader.next();
    RC_ASSERT(event.has_value());
    RC_ASSERT(event->name == "output.delta");
    RC_ASSERT(event->last_event_id == "9");
    const json::Document document(event->data);
    RC_ASSERT(json::find_text(document.root(), "DeltaText") == said);
    RC_ASSERT(!reader.next().has_value());
  }));
}

// A client that takes everything. `on_watch` is called when a handler begins to watch it.
class TakingClient final : public http::Exchange {
 public:
  std::string taken{};
  bool has_ended = false;
  std::function<void()> on_watch = [] {};

  const http::Request& request() const override { return request_; }
  http::Request take_request() override { return {}; }
  asio::awaitable<bool> respond(http::Response /*response*/) override { co_return true; }
  asio::awaitable<bool> begin(int /*status*/, Headers /*headers*/) override { co_return true; }
  asio::awaitable<bool> write(std::string_view bytes) override {
    taken += bytes;
    co_return true;
  }
  asio::awaitable<bool> end() override {
    has_ended = true;
    co_return true;
  }
  asio::awaitable<bool> write_raw(std::string_view /*bytes*/) override { co_return true; }
  void abort(bool /*reset*/) override {}
  asio::awaitable<void> closed() override { co_return; }
  void interrupt_when(Until /*until*/) override { on_watch(); }
  bool is_wanted() const override { return true; }

 private:
  http::Request request_{};
};

TEST_CASE("an answer that comes while its client begins to be watched is noticed at once") {
  turns::TurnLog log;
  TakingClient client;
  client.on_watch = [&] { log.finish(some_outcome()); };  // As another thread does it.
  asio::io_context loop(1);

  auto news = asio::co_spawn(
      loop, wait_for_news(client, log, INT64_MAX, std::chrono::hours(1), Watch::close),
      asio::use_future);
  loop.poll();

  REQUIRE(news.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(news.get() == News::some);
}

TEST_CASE("a stream ends with its round also when its client names an event of the future") {
  turns::TurnLog log;
  log.open(kOpening, 1);
  TakingClient client;
  client.on_watch = [&] {
    if (!log.outcome_now()) log.finish(some_outcome());
  };
  asio::io_context loop(1);

  auto sent = asio::co_spawn(
      loop,
      send_stream(client, log, 1'000,
                  TurnText(StreamForm::events, invoke_result_renderer(), Dialect::pascal),
                  Watch::reset),
      asio::use_future);
  loop.poll();

  REQUIRE(sent.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(client.taken.empty());
  CHECK(client.has_ended);
}

TEST_CASE("an entry of the diary is an event of its kind") {
  std::string out;
  append_event(
      out, turns::DiaryEvent{.id = 1000001, .kind = "turn.accepted", .data = R"({"TurnId":"t"})"});

  CHECK(out == "id: 1000001\nevent: turn.accepted\ndata: {\"TurnId\":\"t\"}\n\n");
}

}  // namespace
}  // namespace treaty::api
