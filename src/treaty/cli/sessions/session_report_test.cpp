#include "treaty/cli/sessions/session_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "treaty/base/timestamp.h"

namespace treaty::cli {

TEST_CASE("an age is a number and a unit") {
  CHECK(read_age("45s") == 45'000);
  CHECK(read_age("30m") == 1'800'000);
  CHECK(read_age("12h") == 43'200'000);
  CHECK(read_age("30d") == 2'592'000'000);
  CHECK(read_age("2w") == 1'209'600'000);
  for (const char* text : {"", "d", "30", "-1d", "1.5d", "30 d", "30dd", "9999999d", "30y"}) {
    CAPTURE(text);
    CHECK(!read_age(text));
  }
}

TEST_CASE("times are written in UTC with milliseconds") {
  CHECK(timestamp_of(0) == "1970-01-01T00:00:00.000Z");
  CHECK(timestamp_of(1'767'225'600'007) == "2026-01-01T00:00:00.007Z");
}

TEST_CASE("a body that is JSON stays JSON, any other is a string") {
  const store::Turn turn{.number = 2, .turn_id = "t\"1", .state = store::TurnState::completed};

  CHECK(line_of(turn, store::RequestRecord{.body = R"({"a":1})"}) ==
        R"({"Kind":"request","TurnId":"t\"1","Number":2,"State":"completed","Round":0,)"
        R"("Request":{"a":1}})");
  CHECK(line_of(turn, store::AnswerRecord{.round = 1, .body = "not {json"}) ==
        R"({"Kind":"answer","TurnId":"t\"1","Number":2,"State":"completed","Round":1,)"
        R"("CreatedAt":"1970-01-01T00:00:00.000Z","Answer":"not {json"})");
}

TEST_CASE("a table keeps foreign text on its line") {
  const store::Session session{.room = {"local", "s\n1\x1b[31m"}, .turns = 3};

  const std::string table = table_of(std::span(&session, 1));

  CHECK(table.find("SESSION") == 0);
  CHECK(std::count(table.begin(), table.end(), '\n') == 2);
  CHECK(table.find('\x1b') == std::string::npos);
}

}  // namespace treaty::cli
