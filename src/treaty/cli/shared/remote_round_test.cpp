#include "treaty/cli/shared/remote_round.h"

#include <doctest/doctest.h>

namespace treaty::cli {
namespace {

using http::FailureKind;
using Next = RemoteRound::Next;

const contracts::AgentExecuteRequest kRequest{"s 1", "t1",
                                              contracts::UserTurn{.instruction = "Hi."}};

constexpr std::string_view kBegun =
    "id: 1\nevent: turn.started\ndata: {\"SessionId\":\"s 1\",\"TurnId\":\"t/9\"}\n\n"
    "id: 2\nevent: output.delta\ndata: {\"DeltaText\":\"Hi\"}\n\n";

// A round, and what each attempt brings it.
struct Played {
  RemoteRound round{kRequest, [](std::string_view) {}, "http://here"};

  Next streamed(std::string_view bytes) {
    return answered({.status = 200, .headers = {{"content-type", "text/event-stream"}}}, bytes);
  }
  Next answered(const http::Response& head, std::string_view body = "") {
    RemoteRoundSink sink(round.events());
    sink.on_head(head);
    sink.on_body(body);
    return round.judge({}, sink, true);
  }
  Next broken(FailureKind kind, bool was_reached = true) {
    const RemoteRoundSink sink(round.events());
    return round.judge(std::unexpected(http::FetchFailure{kind, "oh"}), sink, was_reached);
  }
};

}  // namespace

TEST_CASE("a request that broke before the turn had a name is sent again as it was") {
  Played played;
  const std::string first = played.round.next_request().body;

  CHECK(played.broken(FailureKind::reset) == Next::go_on);

  CHECK(played.round.next_request().method == "POST");
  CHECK(played.round.next_request().body == first);
}

TEST_CASE("a stream that was cut is followed after its last event") {
  Played played;

  CHECK(played.streamed(kBegun) == Next::go_on);

  const http::Request next = played.round.next_request();
  CHECK(next.method == "GET");
  CHECK(next.target == "/v1/sessions/s%201/turns/t%2F9/stream");
  CHECK(next.headers.get("last-event-id") == "2");
  CHECK(played.round.cancel_path() == "/v1/sessions/s%201/turns/t%2F9/cancel");
}

TEST_CASE("a stream that has nothing more leads back to the request") {
  Played played;
  played.streamed(kBegun);

  CHECK(played.answered({.status = 204}) == Next::go_on);

  CHECK(played.round.next_request().method == "POST");
}

TEST_CASE("a result ends the round, streamed or not, refusal or not") {
  Played streamed;
  CHECK(streamed.streamed("event: turn.result\ndata: {}\n\n") == Next::done);
  CHECK(streamed.round.take_answer().invoke_result == "{}");

  Played refused;
  CHECK(refused.answered({.status = 409, .headers = {{"content-type", "application/json"}}},
                         "{\"Successful\":false}") == Next::done);
  CHECK(refused.round.take_answer().invoke_result == "{\"Successful\":false}");
}

TEST_CASE("what cannot go better is given up at once") {
  CHECK(Played().broken(FailureKind::tls) == Next::give_up);
  CHECK(Played().broken(FailureKind::bad_address) == Next::give_up);
  CHECK(Played().broken(FailureKind::refused, false) == Next::give_up);
  CHECK(Played().broken(FailureKind::refused, true) == Next::go_on);
  CHECK(Played().answered({.status = 502, .headers = {{"content-type", "text/html"}}}, "<html>") ==
        Next::give_up);
}

TEST_CASE("a turn that the user cancelled is not asked for again") {
  Played played;
  played.round.cancel();

  CHECK(played.broken(FailureKind::reset) == Next::give_up);
  CHECK(!played.round.take_answer().failure.empty());
}

TEST_CASE("attempts end after some, and news begin them anew") {
  Played played;
  int attempts = 0;
  while (played.round.pause()) ++attempts;
  CHECK(attempts == 6);

  played.streamed(kBegun);
  CHECK(played.round.pause() == std::chrono::milliseconds(200));
}

namespace {

constexpr std::string_view kStream =
    "id: 4\nevent: turn.started\ndata: {\"SessionId\":\"s/1\",\"TurnId\":\"t\"}\n\n"
    ": still here\n\n"
    "id: 5\nevent: output.delta\ndata: {\"DeltaText\":\"Grü\\u00dfe\"}\n\n"
    "id: 6\nevent: output.delta\ndata: {\"DeltaText\":\" an alle\"}\n\n"
    "id: 7\nevent: turn.result\ndata: {\"Successful\":true}\n\n";

}  // namespace

TEST_CASE("a stream gives its names, its text and its result, however it is cut") {
  for (std::size_t cut = 0; cut <= kStream.size(); ++cut) {
    std::string text;
    TurnEvents events([&](std::string_view delta) { text += delta; });

    events.feed(kStream.substr(0, cut));
    events.feed(kStream.substr(cut));

    CHECK(text == "Grüße an alle");
    CHECK(events.session_id() == "s/1");
    CHECK(events.turn_id() == "t");
    CHECK(events.last_id() == 7);
    CHECK(events.result() == "{\"Successful\":true}");
  }
}

TEST_CASE("a stream that broke and is told again from its beginning counts once") {
  for (std::size_t cut = 0; cut <= kStream.size(); ++cut) {
    std::string text;
    TurnEvents events([&](std::string_view delta) { text += delta; });

    events.feed(kStream.substr(0, cut));
    events.begin_connection();
    events.feed(kStream);

    CHECK(text == "Grüße an alle");
    CHECK(events.result() == "{\"Successful\":true}");
  }
}

TEST_CASE("events that nobody knows and data that is no JSON do no harm") {
  std::string text;
  TurnEvents events([&](std::string_view delta) { text += delta; });

  events.feed("event: news\ndata: 1\n\nevent: output.delta\ndata: {broken\n\n");
  events.feed("event: output.delta\ndata: {\"DeltaText\":5}\n\n");

  CHECK(text.empty());
  CHECK(events.last_id() == 0);
  CHECK(!events.result());
}

}  // namespace treaty::cli
