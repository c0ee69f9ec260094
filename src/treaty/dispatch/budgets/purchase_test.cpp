// What a call may cost at most, and what it has cost.
#include "treaty/dispatch/budgets/purchase.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

namespace treaty::dispatch {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using contracts::CostInfo;
using contracts::UsageInfo;

constexpr double kNoon = 20'000 * 86'400.0 + 43'200;
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

backends::Call call_of(std::size_t bytes) {
  return {.model = "m", .system = std::string(bytes, 'x')};
}

store::Purchase bought(std::size_t bytes, const Choice& choice = {.backend = "a"},
                       const TokenEstimate& estimate = {},
                       const std::optional<results::Price>& price = {}) {
  return purchase_of(call_of(bytes), choice, estimate, price, {}, kNoon);
}

AgentResult failure(std::optional<std::string> code) {
  return {.error = AgentError{.message = "no", .code = std::move(code)}};
}

TEST_CASE("All text that a model is given counts") {
  backends::Call call{.model = "m", .system = "12345"};
  call.messages.push_back(backends::UserMessage{{backends::TextPart{"123"}}});
  call.tools.push_back({.name = "t", .description = "de", .parameters_json = "{}"});
  call.output = backends::OutputSchema{.schema_json = "{\"a\":1}"};

  CHECK(bytes_of(call) == 5 + 3 + 1 + 2 + 2 + 7);
}

TEST_CASE("A token a byte is set aside, and something is put around") {
  CHECK(bought(1'000).input_tokens == 1'016);
  CHECK(bought(0).input_tokens == 16);
}

TEST_CASE("More than that is set aside when answers have shown that more is taken") {
  const TokenEstimate estimate{
      .tokens_per_byte = 2, .fixed_tokens = 40, .output_tokens = 100, .has_learnt = true};

  const auto purchase = bought(1'000, {.backend = "a"}, estimate);

  CHECK(purchase.input_tokens == 2'550);
  CHECK(purchase.least_output == 125);
}

TEST_CASE("Tokens of reasoning are set aside beside those of the answer") {
  const Choice thinks{.backend = "a",
                      .max_output_tokens = 500,
                      .reasoning = backends::Reasoning{.budget_tokens = 2'000}};

  CHECK(bought(0, thinks).output_tokens == 2'500);
  CHECK(bought(0, thinks).least_output == 2'016);
}

TEST_CASE("An answer may be as long as its entry says, else 4096 tokens") {
  CHECK(bought(0).output_tokens == kAnswerTokens);
  CHECK(bought(0).least_output == 16);

  const auto brief = bought(0, {.backend = "a", .max_output_tokens = 5});
  CHECK(brief.output_tokens == 5);
  CHECK(brief.least_output == 5);
}

TEST_CASE("The dearest price of an input token counts; without prices there are none") {
  const results::Price price{.input = 3, .output = 15, .cache_read = 1, .cache_write = 4};

  CHECK(bought(0, {.backend = "a"}, {}, price).input_price == 4);
  CHECK(bought(0, {.backend = "a"}, {}, price).output_price == 15);
  CHECK(bought(0, {.backend = "a"}, {}, results::Price{.input = 3}).input_price == 3);
  CHECK(bought(0).input_price == 0);
}

TEST_CASE("A day is one of UTC, and ends at midnight") {
  CHECK(bought(0).day == 20'000);
  CHECK(until_next_day(kNoon) == 43'200);
  CHECK(until_next_day(20'000 * 86'400.0) == 86'400);
  CHECK(until_next_day(20'001 * 86'400.0 - 1) == 1);
}

TEST_CASE("What an answer says is what it has cost, failed or not") {
  AgentResult good{.content = "ok"};
  good.usage = UsageInfo{.input_tokens = 10, .output_tokens = 5};
  good.cost = 0.000'002;
  CHECK(spent_by(good, bought(0), 100) == store::Amount{15, 2'000'000});

  AgentResult cut = failure("server_error");
  cut.usage = UsageInfo{.input_tokens = 10, .output_tokens = 1};
  cut.cost = CostInfo{.input = 1.0, .total = 2.0};
  CHECK(spent_by(cut, bought(0), 100) == store::Amount{11, 2'000'000'000'000});
}

TEST_CASE("A total that is larger than its parts counts") {
  AgentResult result{.content = "ok"};
  result.usage = UsageInfo{.input_tokens = 10, .output_tokens = 5, .total_tokens = 40};

  CHECK(spent_by(result, bought(0), 0).tokens == 40);
}

TEST_CASE("A failure without a word about usage has cost nothing") {
  CHECK(spent_by(failure("server_error"), bought(1'000), 0) == store::Amount{});
  CHECK(spent_by(failure("rate_limit"), bought(1'000), 0) == store::Amount{});
}

TEST_CASE("Whoever was cut while it worked has cost its input and what was heard") {
  const auto purchase =
      bought(1'000, {.backend = "a"}, {}, results::Price{.input = 2, .output = 10});
  const store::Amount expected{254 + 25, 254 * 2 + 25 * 10};

  CHECK(spent_by(failure("server_error"), purchase, 100) == expected);
  CHECK(spent_by(failure("timeout"), purchase, 100) == expected);
  CHECK(spent_by(failure({}), purchase, 100) == expected);
  CHECK(spent_by(failure("timeout"), purchase, 0) == store::Amount{254, 508});
}

TEST_CASE("An answer without a word about usage has cost what it looks like") {
  const AgentResult silent{.content = std::string(400, 'x'), .finish_reason = "stop"};

  CHECK(spent_by(silent, bought(1'000), 0).tokens == 254 + 100);
}

TEST_CASE("A picture is set aside as dearly as pictures get") {
  backends::Call call{.model = "m"};
  call.messages.push_back(backends::UserMessage{{backends::ImagePart{"image/png", "AAAA"}}});

  CHECK(purchase_of(call, {.backend = "a"}, {}, std::nullopt, {}, 0).input_tokens > 3'000);
}

TEST_CASE("Counts and costs beyond all bounds are never less than nothing") {
  AgentResult absurd{.content = "ok"};
  absurd.usage = UsageInfo{.input_tokens = kMost, .output_tokens = kMost};
  absurd.cost = 1e300;
  CHECK(spent_by(absurd, bought(0), 0).tokens >= 1'000'000'000'000'000);
  CHECK(spent_by(absurd, bought(0), 0).picodollars == 1'000'000'000'000'000);

  AgentResult negative{.content = "ok"};
  negative.usage = UsageInfo{.input_tokens = -kMost, .output_tokens = -5, .total_tokens = -1};
  negative.cost = -3.0;
  CHECK(spent_by(negative, bought(0), 0) == store::Amount{});

  store::Purchase dear{.input_tokens = 1'000'000'000'000, .input_price = kMost / 4};
  CHECK(spent_by(failure("timeout"), dear, 1e9).picodollars == 1'000'000'000'000'000);
}

TEST_CASE("What is set aside covers what a call of that size uses, once it was learnt") {
  CHECK(rc::check([] {
    const auto bytes = *rc::gen::inRange<std::size_t>(0, 10'000);
    const double ratio = *rc::gen::inRange(1, 200) / 100.0;
    const TokenEstimate estimate{.tokens_per_byte = ratio, .output_tokens = 9, .has_learnt = true};

    const auto purchase = bought(bytes, {.backend = "a"}, estimate);

    RC_ASSERT(static_cast<double>(purchase.input_tokens) >= static_cast<double>(bytes) * ratio);
    RC_ASSERT(purchase.least_output <= purchase.output_tokens);
  }));
}

}  // namespace
}  // namespace treaty::dispatch
