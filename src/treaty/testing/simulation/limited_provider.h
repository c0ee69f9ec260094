// A provider with true limits, for the simulated clock: token buckets and windows that end at once,
// told in its answers as the great providers tell theirs. It refuses what is over them.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "treaty/backends/backend.h"
#include "treaty/dispatch/policy.h"
#include "treaty/testing/simulation/fake_clock.h"

namespace treaty::testing {

struct TrueLimit {
  std::string name;      // As the answers tell it,
  std::string resource;  // "requests" or "tokens".
  double capacity = 0;
  double seconds = 60;  // In which all of it comes back,
  bool refills = true;  // bit by bit, or at once at the end of the window.
};

class LimitedProvider final : public backends::Backend {
 public:
  struct Options {
    std::vector<TrueLimit> limits{};
    dispatch::Seconds latency = 0.5;  // On average; half to one and a half of it.
    bool tells_windows = true;
    bool tells_retry_after = true;
    std::uint64_t seed = 1;
  };

  LimitedProvider(std::shared_ptr<FakeClock> clock, Options options);

  boost::asio::awaitable<contracts::AgentResult> run(const backends::Call& call,
                                                     backends::Sink& sink) override;

  // The least time in which the limits let through what was not refused.
  dispatch::Seconds best_possible() const;

  int asked = 0;
  int refused = 0;
  std::vector<dispatch::Moment> taken_at{};  // The calls that were not refused.

 private:
  struct Bucket {
    TrueLimit limit{};
    double level = 0;
    dispatch::Moment at = 0;  // When the level was looked at; the beginning of the window.
  };

  void refill(Bucket& bucket) const;
  std::optional<dispatch::Seconds> take(double tokens);  // Refused: how long to wait.
  contracts::RateLimitState state() const;

  std::shared_ptr<FakeClock> clock_;
  Options options_;
  std::vector<Bucket> buckets_{};
  double tokens_taken_ = 0;
  std::mt19937_64 random_;
};

}  // namespace treaty::testing
