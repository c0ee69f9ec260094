#include <doctest/doctest.h>

#include "treaty/cli/shared/remote_round.h"

namespace treaty::cli {
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
