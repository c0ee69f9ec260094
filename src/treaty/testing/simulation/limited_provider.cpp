#include "treaty/testing/simulation/limited_provider.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <cmath>

namespace treaty::testing {
namespace {

struct Tokens {
  double input = 0;
  double output = 0;
};

// Of the same call always the same, and of no other: how long an answer is, nobody knows before.
Tokens tokens_of(const backends::Call& call) {
  constexpr double kBytesPerToken = 3.3;
  constexpr std::size_t kMostOutput = 400;
  const std::size_t bytes = call.messages.bytes();
  return {std::ceil(static_cast<double>(bytes) / kBytesPerToken),
          static_cast<double>(bytes * 7'919 % kMostOutput)};
}

}  // namespace

namespace asio = boost::asio;
using contracts::AgentResult;
using dispatch::Seconds;

LimitedProvider::LimitedProvider(std::shared_ptr<FakeClock> clock, Options options)
    : clock_(std::move(clock)), options_(std::move(options)), random_(options_.seed) {
  for (const TrueLimit& limit : options_.limits) {
    buckets_.push_back({.limit = limit, .level = limit.capacity, .at = clock_->seconds()});
  }
}

void LimitedProvider::refill(Bucket& bucket) const {
  const auto now = clock_->seconds();
  const Seconds passed = now - bucket.at;
  if (bucket.limit.refills) {
    bucket.level = std::min(bucket.limit.capacity,
                            bucket.level + passed * bucket.limit.capacity / bucket.limit.seconds);
    bucket.at = now;
  } else if (passed >= bucket.limit.seconds) {
    bucket.level = bucket.limit.capacity;
    bucket.at += std::floor(passed / bucket.limit.seconds) * bucket.limit.seconds;
  }
}

std::optional<Seconds> LimitedProvider::take(double tokens) {
  std::optional<Seconds> wait;
  const auto share = [&](const Bucket& bucket) {
    return bucket.limit.resource == "requests" ? 1.0 : tokens;
  };
  for (Bucket& bucket : buckets_) {
    refill(bucket);
    const double missing = share(bucket) - bucket.level;
    if (missing <= 0) continue;
    const Seconds until = bucket.limit.refills
                              ? missing * bucket.limit.seconds / bucket.limit.capacity
                              : bucket.at + bucket.limit.seconds - clock_->seconds();
    wait = std::max(wait.value_or(0), until);
  }
  if (wait) return wait;
  for (Bucket& bucket : buckets_) bucket.level -= share(bucket);
  return std::nullopt;
}

contracts::RateLimitState LimitedProvider::state() const {
  contracts::RateLimitState state;
  if (!options_.tells_windows) return state;
  for (const Bucket& bucket : buckets_) {
    const Seconds to_full =
        bucket.limit.refills
            ? (bucket.limit.capacity - bucket.level) * bucket.limit.seconds / bucket.limit.capacity
            : bucket.at + bucket.limit.seconds - clock_->seconds();
    state.windows.push_back({.name = bucket.limit.name,
                             .resource = bucket.limit.resource,
                             .remaining = static_cast<std::int64_t>(std::floor(bucket.level)),
                             .limit = static_cast<std::int64_t>(bucket.limit.capacity),
                             .resets_in = static_cast<std::int64_t>(std::ceil(to_full))});
  }
  return state;
}

asio::awaitable<AgentResult> LimitedProvider::run(const backends::Call& call,
                                                  backends::Sink& /*sink*/) {
  std::uniform_real_distribution<double> around(0.5, 1.5);
  const Tokens tokens = tokens_of(call);
  const Seconds latency = options_.latency * around(random_);
  ++asked;
  AgentResult result{.content = "Done.", .finish_reason = "stop"};
  if (const auto wait = take(tokens.input + tokens.output)) {
    ++refused;
    result = {
        .finish_reason = "error",
        .error = contracts::AgentError{
            .message = "too many", .code = "rate_limit", .status_code = 429, .retryable = true}};
    result.rate_limit = state();
    result.rate_limit->limited = true;
    if (options_.tells_retry_after) result.rate_limit->retry_after = std::ceil(*wait);
    co_await clock_->sleep(latency / 10);
    co_return result;
  }
  taken_at.push_back(clock_->seconds());
  tokens_taken_ += tokens.input + tokens.output;
  result.rate_limit = state();  // As of now: the answer comes later.
  result.usage = contracts::UsageInfo{.input_tokens = static_cast<std::int64_t>(tokens.input),
                                      .output_tokens = static_cast<std::int64_t>(tokens.output)};
  co_await clock_->sleep(latency);
  co_return result;
}

Seconds LimitedProvider::best_possible() const {
  const auto calls = static_cast<double>(taken_at.size());
  Seconds longest = options_.latency;
  for (const TrueLimit& limit : options_.limits) {
    const double needed = limit.resource == "requests" ? calls : tokens_taken_;
    const double beyond = std::max(needed - limit.capacity, 0.0);
    const Seconds time = limit.refills ? beyond / limit.capacity * limit.seconds
                                       : std::ceil(beyond / limit.capacity) * limit.seconds;
    longest = std::max(longest, time + options_.latency);
  }
  return longest;
}

}  // namespace treaty::testing
