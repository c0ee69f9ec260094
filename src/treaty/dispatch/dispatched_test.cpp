// What all attempts of a call have taken together.
#include "treaty/dispatch/dispatched.h"

#include <doctest/doctest.h>

#include <limits>

namespace treaty::dispatch {
namespace {

using contracts::AgentResult;
using contracts::CostInfo;
using contracts::UsageInfo;

AgentResult attempt(std::optional<std::int64_t> input, std::optional<double> dollars = {}) {
  AgentResult result;
  if (input) result.usage = UsageInfo{.input_tokens = input, .output_tokens = 1};
  if (dollars) result.cost = *dollars;
  return result;
}

AgentResult total_of(const std::vector<AgentResult>& attempts) {
  Totals totals;
  for (const AgentResult& one : attempts) totals.add(one);
  AgentResult last = attempts.empty() ? AgentResult{} : attempts.back();
  totals.give_to(last);
  return last;
}

TEST_CASE("A call with one attempt keeps what that one said, to the letter") {
  AgentResult only = attempt(10);
  only.cost = CostInfo{.input = 0.1, .total = 0.1};

  CHECK(total_of({only}) == only);
}

TEST_CASE("Attempts are added up, and counted") {
  const auto total = total_of({attempt(10, 0.5), attempt({}), attempt(7, 0.25)});

  CHECK(total.usage->input_tokens == 17);
  CHECK(total.usage->output_tokens == 2);
  CHECK(total.usage->api_calls == 3);
  CHECK(std::get<double>(*total.cost) == 0.75);
}

TEST_CASE("An attempt that made several calls of a provider counts as so many") {
  AgentResult busy = attempt(10);
  busy.usage->api_calls = 4;

  CHECK(total_of({busy, attempt(7)}).usage->api_calls == 5);
}

TEST_CASE("What nobody told stays absent") {
  const auto silent = total_of({attempt({}), attempt({})});
  CHECK(!silent.usage);
  CHECK(!silent.cost);

  const auto partly = total_of({attempt(1), attempt(2)});
  CHECK(!partly.usage->cache_read_tokens);
  CHECK(!partly.usage->total_tokens);
}

TEST_CASE("The parts of a cost are added by their total") {
  AgentResult parts = attempt(1);
  parts.cost = CostInfo{.input = 0.25, .output = 0.25, .total = 0.5};

  CHECK(std::get<double>(*total_of({parts, attempt(1, 0.25)}).cost) == 0.75);
}

TEST_CASE("Without an attempt nothing is added") {
  Totals none;
  AgentResult result;
  none.give_to(result);

  CHECK(result == AgentResult{});
}

TEST_CASE("A failed attempt is paid for even when the next backend was never asked") {
  Totals totals;
  totals.add(attempt({}, 0.5));
  AgentResult unasked{.error = contracts::AgentError{.message = "no", .code = "rate_limit"}};

  totals.give_to(unasked);

  REQUIRE(unasked.cost);
  CHECK(std::get<double>(*unasked.cost) == 0.5);
}

TEST_CASE("Counts beyond all bounds stay at the bound") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

  CHECK(total_of({attempt(kMost), attempt(kMost)}).usage->input_tokens == kMost);
}

}  // namespace
}  // namespace treaty::dispatch
