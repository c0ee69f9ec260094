#include "treaty/api/endpoints/streams.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/base/json.h"
#include "treaty/http/event_stream.h"
#include "treaty/testing/generators.h"

namespace treaty::api {
namespace {

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

TEST_CASE("lines are partial ones that count up and one final with the result") {
  const auto outcome = some_outcome();

  CHECK(text_of(StreamForm::lines, Dialect::pascal,
                {{1, kOpening}, {2, turns::Delta{"a"}}, {3, turns::Delta{"b"}}, {4, outcome}}) ==
        "{\"kind\":\"partial\",\"deltaText\":\"a\",\"index\":0}\n"
        "{\"kind\":\"partial\",\"deltaText\":\"b\",\"index\":1}\n"
        "{\"kind\":\"final\",\"index\":2,\"final\":" +
            outcome->body + "}\n");
}

TEST_CASE("any text of a model arrives as it was, fake events and all") {
  rc::check([] {
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
  });
}

TEST_CASE("an entry of the diary is an event of its kind") {
  std::string out;
  append_event(
      out, turns::DiaryEvent{.id = 1000001, .kind = "turn.accepted", .data = R"({"TurnId":"t"})"});

  CHECK(out == "id: 1000001\nevent: turn.accepted\ndata: {\"TurnId\":\"t\"}\n\n");
}

}  // namespace
}  // namespace treaty::api
