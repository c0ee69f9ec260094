#include "treaty/cli/limits/limits_view.h"

#include <doctest/doctest.h>

#include "treaty/api/limits_json.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli::limits_watch {
namespace {

TEST_CASE("What the server writes is read as it was meant") {
  dispatch::PoolView pool{.name = {.provider = "openai", .model = "small"}};
  pool.windows = {{.name = "requests_per_minute",
                   .resource = "requests",
                   .limit = 60,
                   .remaining = 12.5,
                   .resets_in = 5.25,
                   .refills = true},
                  {.name = "tokens", .resource = "tokens", .remaining = 7, .resets_in = 1}};
  pool.next_free_in = 3;
  pool.obstacle = "breaker";
  pool.waiting = 4;
  pool.running = 2;
  pool.breaker = dispatch::BreakerState::open;
  pool.failures = 5;
  pool.probe_in = 3;
  pool.decision = {.decision = {.act = dispatch::Act::move_on,
                                .rule = dispatch::DispatchRule::max_attempts,
                                .reason = "server_error twice"},
                   .ago = 90.5};
  const api::BudgetView budget{.scope = "agent",
                               .name = "default",
                               .limit = {.tokens = 100, .picodollars = 2'500'000'000'000},
                               .spent = {.tokens = 10, .picodollars = 1'000'000'000'000},
                               .reserved = {.tokens = 5}};

  const auto view = parse_limits(api::limits_json({&pool, 1}, {&budget, 1}, 1'795'262'400));

  REQUIRE(view);
  CHECK(view->at == "2026-11-21T12:00:00.000Z");
  CHECK(view->pools ==
        std::vector<LimitsView::Pool>{{.provider = "openai",
                                       .model = "small",
                                       .obstacle = "breaker",
                                       .next_free_in = 3,
                                       .waiting = 4,
                                       .running = 2,
                                       .windows = {{"requests_per_minute", 60, 12.5, 5.25, true},
                                                   {"tokens", std::nullopt, 7, 1, false}},
                                       .breaker = "open",
                                       .failures = 5,
                                       .probe_in = 3,
                                       .decision = LimitsView::Decision{
                                           "switch", "max_attempts", "server_error twice", 90.5}}});
  CHECK(view->budgets == std::vector<LimitsView::Budget>{{.scope = "agent",
                                                          .name = "default",
                                                          .tokens = {100, 10, 5},
                                                          .dollars = {2.5, 1, 0},
                                                          .resets_in = 43'200}});
}

TEST_CASE("What is not an answer about limits is refused") {
  for (const std::string_view text :
       {"", "null", "[]", "{}", R"({"Pools":{}})", R"({"Pools":[])", R"({"Pools":null})", "<html>",
        R"({"Pools":[],"Pools":[]})"}) {
    CAPTURE(text);
    CHECK(!parse_limits(text));
  }
}

TEST_CASE("Members of other types count as absent, and numbers stay in bounds") {
  const auto view = parse_limits(
      R"({"Pools":[1,{"Provider":7,"Waiting":-3,"NextFreeIn":1e300,"Windows":[{"Limit":"x"}],)"
      R"("Breaker":[]}],"Budgets":"none"})");

  REQUIRE(view);
  REQUIRE(view->pools.size() == 2);
  CHECK(view->pools[0] == LimitsView::Pool{});
  CHECK(view->pools[1].provider.empty());
  CHECK(view->pools[1].waiting == 0);
  CHECK(view->pools[1].next_free_in == 1e15);
  CHECK(view->pools[1].windows == std::vector<LimitsView::Window>{{}});
  CHECK(view->budgets.empty());
}

TEST_CASE("Names that would command a terminal are tamed") {
  const auto view = parse_limits(R"({"Pools":[{"Provider":"a\u001b[2Jb","Model":"x\ny"}]})");

  REQUIRE(view);
  CHECK(view->pools[0].provider == "a?[2Jb");
  CHECK(view->pools[0].model == "x?y");
}

TEST_CASE("Time that goes by is no news; what is left, who waits and the breaker are") {
  LimitsView view{.at = "then", .pools = {{.next_free_in = 4, .windows = {{.remaining = 3}}}}};
  LimitsView later = view;
  later.at = "now";
  later.pools[0].next_free_in = 3;
  later.pools[0].probe_in = 1;
  later.pools[0].windows[0].resets_in = 7;
  later.pools[0].windows[0].remaining = 3.5;
  CHECK(without_times(view) == without_times(later));

  for (const auto change : {+[](LimitsView& one) { one.pools[0].windows[0].remaining = 2; },
                            +[](LimitsView& one) { one.pools[0].waiting = 1; },
                            +[](LimitsView& one) { one.pools[0].breaker = "open"; },
                            +[](LimitsView& one) { one.budgets.emplace_back(); }}) {
    LimitsView changed = view;
    change(changed);
    CHECK(without_times(view) != without_times(changed));
  }
}

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
