#include "treaty/cli/shared/wait_notice.h"

#include <doctest/doctest.h>

namespace treaty::cli {

TEST_CASE("a wait says what is waited for, why, and how long") {
  const auto wait = notice_of(
      "waiting", R"({"Backend":"main","Model":"m","Seconds":29.5,"Reason":"its breaker is open"})");

  REQUIRE(wait);
  CHECK(wait->text == "waiting for main: its breaker is open");
  CHECK(wait->seconds == 29.5);
}

TEST_CASE("a wait of unknown length, a switch and a machine's wait are told, too") {
  const auto line = notice_of("waiting", R"({"Backend":"main","Reason":"others came before"})");
  REQUIRE(line);
  CHECK(line->text == "waiting for main: others came before");
  CHECK(!line->seconds);

  const auto other = notice_of("switched", R"({"From":"a","To":"b","Reason":"auth_error"})");
  REQUIRE(other);
  CHECK(other->text == "going to b: auth_error");

  const auto machine =
      notice_of("machine.wait", R"({"Machine":"loop","State":"rest","Seconds":3})");
  REQUIRE(machine);
  CHECK(machine->text == "loop waits for 3 s in rest");
}

TEST_CASE("an attempt that failed is named with its code and status") {
  CHECK(failed_attempt_of(
            "attempt.failed",
            R"({"Backend":"main","Model":"m","ErrorCode":"server_error","Status":503})") ==
        "main (m): server_error 503");
  CHECK(failed_attempt_of("attempt.failed",
                          R"({"Backend":"main","Model":"m","ErrorCode":"timeout"})") ==
        "main (m): timeout");
  CHECK(!failed_attempt_of("attempt.failed", R"({"ErrorCode":"aborted"})"));
  CHECK(!failed_attempt_of("attempt.completed", "{}"));
}

TEST_CASE("other entries, and entries that cannot be read, are no waits") {
  CHECK(!notice_of("attempt.failed", R"({"Backend":"main"})"));
  CHECK(!notice_of("machine.state", R"({"Machine":"loop","State":"rest"})"));
  CHECK(!notice_of("machine.wait", "{}"));
  CHECK(!notice_of("", "not JSON"));
}

}  // namespace treaty::cli
