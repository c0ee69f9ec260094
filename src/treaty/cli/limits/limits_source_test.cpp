#include <doctest/doctest.h>

#include "treaty/cli/command_line.h"
#include "treaty/cli/limits/limits_view.h"

namespace treaty::cli::limits_watch {
namespace {

AnsweredLimits read(int status, std::string body) {
  return read_limits_answer(http::Response{.status = status, .body = std::move(body)});
}

TEST_CASE("An answer is kept on one line, and read") {
  const auto told = read(200, "{\n  \"Pools\": [ {\"Provider\": \"a b\"} ]\n}\n");

  REQUIRE(told);
  CHECK(told->json == R"({"Pools":[{"Provider":"a b"}]})");
  CHECK(told->view.pools.size() == 1);
}

TEST_CASE("Nobody there may pass, and is exit 69") {
  const auto told = read_limits_answer(
      std::unexpected(http::FetchFailure{http::FailureKind::refused, "refused"}));

  REQUIRE(!told);
  CHECK(told.error().exit_code == kUnavailable);
  CHECK(told.error().may_pass);
  CHECK(told.error().next.contains("treaty serve"));
}

TEST_CASE("A key or an address that is wrong stays wrong") {
  for (const int status : {401, 403, 404}) {
    const auto told =
        read(status, R"({"Errors":[{"ErrorCode":"unauthenticated","Message":"No."}]})");
    REQUIRE(!told);
    CHECK(told.error().exit_code == kBadConfiguration);
    CHECK(!told.error().may_pass);
    CHECK(told.error().text.ends_with("unauthenticated: No."));
  }
}

TEST_CASE("A gateway that is busy or broken may be well again") {
  for (const int status : {429, 500, 502, 503}) {
    const auto told = read(status, "");
    REQUIRE(!told);
    CHECK(told.error().exit_code == kTryLater);
    CHECK(told.error().may_pass);
  }
}

TEST_CASE("Somebody who is no gateway is told apart") {
  for (const auto& told : {read(200, "<html>"), read(302, ""), read(200, "{}")}) {
    REQUIRE(!told);
    CHECK(told.error().exit_code == kViolated);
    CHECK(!told.error().may_pass);
  }
}

}  // namespace
}  // namespace treaty::cli::limits_watch
