// What a pool knows of its limits: newer and older answers, what was sent meanwhile, refusals.
#include "treaty/dispatch/quota/quota.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace treaty::dispatch {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using contracts::RateLimitState;
using contracts::RateLimitWindow;
using contracts::UsageInfo;

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
const Cost kNobody{0, 0, 0};
const Cost kCall{1, 100, 20};

RateLimitWindow window(std::string name, std::string resource, Number remaining, Number limit,
                       Number resets_in) {
  return {.name = std::move(name),
          .resource = std::move(resource),
          .remaining = remaining,
          .limit = limit,
          .resets_in = resets_in};
}

RateLimitWindow requests(Number remaining, Number resets_in = 30) {
  return window("requests_per_minute", "requests", remaining, 60, resets_in);
}

AgentResult says(std::vector<RateLimitWindow> windows) {
  AgentResult result{.content = "ok"};
  result.rate_limit = RateLimitState{.windows = std::move(windows)};
  return result;
}

AgentResult refused(std::optional<Number> retry_after = {}) {
  AgentResult result;
  result.error = AgentError{.message = "no", .code = "rate_limit", .retryable = true};
  result.rate_limit = RateLimitState{.limited = true, .retry_after = retry_after};
  return result;
}

double left_of(const Quota& quota, Moment now) {
  REQUIRE(!quota.windows.empty());
  return quota.windows.front().level(now);
}

TEST_CASE("While nothing is known everybody may go") {
  Quota quota;

  CHECK(!quota.delay(kNobody, kCall, 0));
  CHECK(!quota.delay({1e9, 1e9, 1e9}, kCall, 0));
  CHECK(quota.gap(kCall) == 0);
}

TEST_CASE("A used-up window keeps the next call until its reset, and says which it is") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), says({requests(0, 25)}), 1);

  const auto delay = quota.delay(kNobody, kCall, 6);

  REQUIRE(delay);
  CHECK(delay->obstacle == Obstacle::window);
  CHECK(delay->window == "requests_per_minute");
  CHECK(delay->wait == 20);
  CHECK(delay->span == Span::minute);
}

TEST_CASE("Of several obstacles the longest is told") {
  Quota quota;
  quota.tell(quota.send(kCall, 0),
             says({requests(0, 25), window("tokens_per_day", "tokens", 0, 1'000, 9'000)}), 0);

  CHECK(quota.delay(kNobody, kCall, 0)->window == "tokens_per_day");
  CHECK(quota.delay(kNobody, kCall, 0)->span == Span::day);
}

TEST_CASE("Calls that were sent after the one whose answer told the window are taken from it") {
  Quota quota;
  const auto first = quota.send(kCall, 0);
  quota.send(kCall, 0);
  quota.send(kCall, 0);

  quota.tell(first, says({requests(10)}), 1);
  CHECK(left_of(quota, 1) == 8);

  quota.send(kCall, 2);
  CHECK(left_of(quota, 2) == 7);
}

TEST_CASE("An older call's answer that comes late does not replace a newer one's") {
  Quota quota;
  const auto older = quota.send(kCall, 0);
  const auto newer = quota.send(kCall, 0);

  quota.tell(newer, says({requests(5)}), 1);
  quota.tell(older, says({requests(50)}), 2);

  CHECK(left_of(quota, 2) == 5);
}

TEST_CASE("Windows that disagree between answers are those of the newest call") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), says({requests(0, 55)}), 0);
  CHECK(quota.delay(kNobody, kCall, 0));

  quota.tell(quota.send(kCall, 1), says({requests(60, 1)}), 1);
  CHECK(!quota.delay(kNobody, kCall, 1));
  CHECK(quota.windows.size() == 1);
}

TEST_CASE("Tokens that were estimated are corrected by what the answer says") {
  Quota quota;
  const auto tokens = [](Number remaining) {
    return window("tokens_per_minute", "tokens", remaining, 10'000, 60);
  };
  quota.tell(quota.send(kCall, 0), says({tokens(9'000)}), 0);
  const auto sent = quota.send({1, 1'000, 0}, 1);
  CHECK(left_of(quota, 1) == 8'000);

  AgentResult answer{.content = "ok"};
  answer.usage = UsageInfo{.input_tokens = 300, .output_tokens = 200};
  quota.tell(sent, answer, 2);

  CHECK(left_of(quota, 2) == 8'500);
}

TEST_CASE("A call that was refused took nothing") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), says({requests(10)}), 0);
  const auto sent = quota.send(kCall, 1);
  CHECK(left_of(quota, 1) == 9);

  quota.tell(sent, refused(), 2);

  CHECK(left_of(quota, 2) == 10);
}

TEST_CASE("A 429 keeps everybody away for its retry_after, and for a second at least") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), refused(20), 10);
  REQUIRE(quota.delay(kNobody, kCall, 10));
  CHECK(quota.delay(kNobody, kCall, 10)->obstacle == Obstacle::retry_after);
  CHECK(quota.delay(kNobody, kCall, 10)->wait == 20);
  CHECK(quota.delay(kNobody, kCall, 29.9));
  CHECK(!quota.delay(kNobody, kCall, 30));

  for (const Number asked : {Number(0), Number(-7), Number(0.01)}) {
    Quota impatient;
    impatient.tell(impatient.send(kCall, 0), refused(asked), 10);
    CHECK(impatient.delay(kNobody, kCall, 10.9));
    CHECK(!impatient.delay(kNobody, kCall, 11));
  }
}

TEST_CASE("A shorter retry_after does not undo a longer one, nor does a success") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), refused(50), 0);
  quota.tell(quota.send(kCall, 0), refused(5), 1);
  quota.tell(quota.send(kCall, 0), {.content = "ok"}, 2);

  CHECK(quota.delay(kNobody, kCall, 49));
}

TEST_CASE("A retry_after on a success keeps nobody") {
  Quota quota;
  AgentResult good{.content = "ok"};
  good.rate_limit = RateLimitState{.limited = true, .retry_after = 100};

  quota.tell(quota.send(kCall, 0), good, 0);

  CHECK(!quota.delay(kNobody, kCall, 0));
}

TEST_CASE("A retry_after of another failure counts when the provider says that it limits") {
  Quota quota;
  AgentResult busy;
  busy.error =
      AgentError{.message = "no", .code = "server_error", .status_code = 503, .retryable = true};
  busy.rate_limit = RateLimitState{.limited = true, .retry_after = 7};

  quota.tell(quota.send(kCall, 0), busy, 0);

  CHECK(quota.delay(kNobody, kCall, 6.9));
  CHECK(!quota.delay(kNobody, kCall, 7));
}

TEST_CASE("What a failure of one call says about waiting keeps nobody else") {
  Quota quota;
  AgentResult wrong;  // Whose message may quote whatever a user wrote.
  wrong.error =
      AgentError{.message = "try again in 50000s", .code = "invalid_request", .status_code = 400};
  wrong.rate_limit = RateLimitState{.limited = true, .retry_after = 50'000};

  quota.tell(quota.send(kCall, 0), wrong, 0);

  CHECK(!quota.delay(kNobody, kCall, 0));
}

TEST_CASE("A window that newer answers do not tell any more is forgotten at its reset") {
  Quota quota;
  const auto telling = [](std::string name, std::int64_t remaining) {
    AgentResult result{.content = "ok"};
    result.rate_limit = RateLimitState{.windows = {{.name = std::move(name),
                                                    .resource = "requests",
                                                    .remaining = remaining,
                                                    .limit = 2,
                                                    .resets_in = 30}}};
    return result;
  };
  quota.tell(quota.send(kCall, 0), telling("requests_per_minute", 1), 0);
  quota.tell(quota.send(kCall, 1), telling("requests", 2), 1);
  quota.advance(20);
  CHECK(quota.windows.size() == 2);

  quota.advance(30);

  REQUIRE(quota.windows.size() == 1);
  CHECK(quota.windows.front().name == "requests");
}

TEST_CASE("A retry_after of more than a day blocks a pool for a day") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), refused(kMost), 0);

  CHECK(quota.blocked_until == 86'400.0);
}

TEST_CASE("A bill that is not paid keeps nobody who may have another key") {
  Quota quota;
  AgentResult unpaid;
  unpaid.error = AgentError{.message = "no", .code = "rate_limit", .retryable = false};

  quota.tell(quota.send(kCall, 0), unpaid, 0);

  CHECK(!quota.delay(kNobody, kCall, 0));
}

TEST_CASE("A window that has passed begins anew, with what was sent since") {
  Quota quota;
  quota.tell(quota.send(kCall, 0), says({requests(0, 30)}), 0);
  quota.send(kCall, 31);
  quota.send(kCall, 32);

  quota.advance(33);

  CHECK(left_of(quota, 33) == 58);
  CHECK(quota.windows.front().resets == 90);
}

TEST_CASE("A window without a limit is forgotten when it has passed") {
  Quota quota;
  RateLimitWindow unlimited = requests(0, 30);
  unlimited.limit.reset();
  quota.tell(quota.send(kCall, 0), says({unlimited}), 0);
  CHECK(quota.delay(kNobody, kCall, 29));

  quota.advance(30);

  CHECK(quota.windows.empty());
}

TEST_CASE("More windows than anybody has are not kept") {
  Quota quota;
  std::vector<RateLimitWindow> many;
  many.reserve(100);
  for (int i = 0; i < 100; ++i) {
    many.push_back(window("w" + std::to_string(i), "requests", 1, 60, 60));
  }

  quota.tell(quota.send(kCall, 0), says(many), 0);

  CHECK(quota.windows.size() == 32);
}

TEST_CASE("The spread is that of the slowest window") {
  Quota quota;
  quota.tell(quota.send(kCall, 0),
             says({requests(0), window("tokens_per_minute", "tokens", 0, 1'200, 30)}), 0);

  CHECK(quota.gap(kCall) == 6);
}

// --- Estimates

TEST_CASE("Four bytes are a token until the first answer has told") {
  TokenEstimate estimate;
  CHECK(estimate.cost_of(400).input_tokens == 100);
  CHECK(estimate.cost_of(400).output_tokens == 0);

  estimate.learn(400, {.input_tokens = 200, .output_tokens = 50});

  CHECK(estimate.cost_of(400).input_tokens == 200);
  CHECK(estimate.cost_of(400).output_tokens == 50);
}

TEST_CASE("Later answers move the estimate a little each") {
  TokenEstimate estimate;
  estimate.learn(400, {.input_tokens = 200, .output_tokens = 50});

  estimate.learn(400, {.input_tokens = 100, .output_tokens = 150});

  CHECK(estimate.cost_of(400).input_tokens == doctest::Approx(180));
  CHECK(estimate.cost_of(400).output_tokens == doctest::Approx(60));
}

TEST_CASE("A short text teaches what is put around it, not how long a token is") {
  TokenEstimate estimate;
  estimate.learn(2, {.input_tokens = 23, .output_tokens = 1});

  CHECK(estimate.cost_of(2).input_tokens == doctest::Approx(23));
  CHECK(estimate.cost_of(8'000).input_tokens < 2'030);
}

TEST_CASE("Usage that makes no sense teaches nothing") {
  TokenEstimate estimate;
  estimate.learn(400, {});
  estimate.learn(400, {.input_tokens = -5, .output_tokens = -5});
  estimate.learn(400, {.input_tokens = 0, .output_tokens = 0});

  CHECK(!estimate.has_learnt);
  CHECK(estimate.tokens_per_byte == 0.25);
}

TEST_CASE("Tokens beyond all bounds are learnt within them") {
  TokenEstimate estimate;
  estimate.learn(1'000, {.input_tokens = kMost, .output_tokens = kMost});
  estimate.learn(1, {.input_tokens = kMost, .output_tokens = kMost});

  CHECK(estimate.tokens_per_byte == 4);
  CHECK(estimate.fixed_tokens <= 100'000);
  CHECK(std::isfinite(estimate.cost_of(1e9).input_tokens));
}

// --- Whatever comes

Number any_number() {
  return *rc::gen::element<Number>(std::numeric_limits<std::int64_t>::min(), -1, 0, 1, 10, 59, 60,
                                   61, 3'600, kMost);
}

AgentResult any_answer() {
  AgentResult result = *rc::gen::arbitrary<bool>() ? refused() : says({});
  if (*rc::gen::arbitrary<bool>()) result.rate_limit->retry_after = any_number();
  const int windows = *rc::gen::inRange(0, 3);
  for (int i = 0; i < windows; ++i) {
    result.rate_limit->windows.push_back(
        window(*rc::gen::element<std::string>("requests", "tokens_per_minute", "x_per_day"),
               *rc::gen::element<std::string>("requests", "tokens", "input_images"), any_number(),
               any_number(), any_number()));
  }
  if (*rc::gen::arbitrary<bool>()) {
    result.usage = UsageInfo{.input_tokens = *rc::gen::element<std::int64_t>(-1, 0, 100, kMost)};
  }
  return result;
}

TEST_CASE("Whatever is told in whatever order, what keeps a call ends, and no 429 is forgotten") {
  CHECK(rc::check([] {
    Quota quota;
    std::vector<std::uint64_t> open;
    Moment now = 1'000;
    Moment blocked = 0;
    const int steps = *rc::gen::inRange(1, 30);
    for (int i = 0; i < steps; ++i) {
      now += *rc::gen::element(0.0, 0.25, 1.0, 61.0, 1e5);
      quota.advance(now);
      const auto delay = quota.delay(kNobody, kCall, now);
      if (now < blocked) {
        RC_ASSERT(delay.has_value());
        RC_ASSERT(delay->wait >= blocked - now);
      }
      if (delay) {
        RC_ASSERT(delay->wait > 0);
        RC_ASSERT(delay->wait <= 40 * 86'400.0 + 1);
      }
      RC_ASSERT(quota.gap(kCall) <= 60);
      if (*rc::gen::arbitrary<bool>()) open.push_back(quota.send(kCall, now));
      if (open.empty() || *rc::gen::arbitrary<bool>()) continue;
      const auto which = open.begin() + *rc::gen::inRange<std::ptrdiff_t>(
                                            0, static_cast<std::ptrdiff_t>(open.size()));
      const AgentResult answer = any_answer();
      quota.tell(*which, answer, now);
      open.erase(which);
      if (!answer.error || !answer.rate_limit->retry_after) continue;
      const double asked = answer.rate_limit->retry_after->value();
      blocked = std::max(blocked, now + std::min(asked, kLongestBlock));
    }
  }));
}

}  // namespace
}  // namespace treaty::dispatch
