// What a call tells on its way along a chain, and how it has ended, whoever answered it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/chain.h"

namespace treaty::dispatch {

// What a limit leaves at one moment: of a window of a pool, or of a budget.
struct LimitLine {
  std::string name{};
  std::string resource{};
  std::optional<double> limit{};
  Seconds length = 0;    // 0: unknown.
  double remaining = 0;  // Now, as far as it can be known.
  Seconds resets_in = 0;
  bool refills = false;
};

struct Dispatched {
  contracts::AgentResult result{};  // Usage and cost are those of all attempts.
  backends::Thoughts thoughts{};    // Of an answer that did not fail.
  std::string refused_author{};     // Who refused the thoughts of the call; empty: nobody.
  bool was_continued = false;       // By another backend, after text had left.
  std::vector<LimitLine>
      limits{};  // For the RateLimit headers of a failure by rate_limit or budget_exhausted.
};

// Usage and cost of all attempts of a call: those of failed ones count, too.
class Totals {
 public:
  void add(const contracts::AgentResult& attempt);

  // Usage and cost of all that were added. A usage that nobody told stays absent.
  void give_to(contracts::AgentResult& last) const;

 private:
  std::int64_t calls_ = 0;  // Of providers: an attempt may say that it made several.
  std::optional<contracts::UsageInfo> usage_{};
  std::optional<double> cost_{};
};

// Why dispatch does something: the rule that decided, and the reason in words.
struct Why {
  DispatchRule rule = DispatchRule::none;
  std::string_view reason{};
};

// Is informed of what dispatch does, as it does it.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual void on_attempt_started(const Choice& /*choice*/, int /*attempt*/) {}
  virtual void on_attempt_ended(const Choice& /*choice*/, int /*attempt*/, Seconds /*took*/,
                                const contracts::AgentResult& /*result*/) {}
  // `wait` is 0 when nobody knows how long it takes.
  virtual void on_waiting(const Choice& /*choice*/, Seconds /*wait*/, const Why& /*why*/) {}

  // Thoughts of this turn are not sent to the backend, or those of its answer are not kept.
  virtual void on_thoughts_dropped(const Choice& /*choice*/, const Why& /*why*/) {}

  // The same backend is asked at once, in another way.
  virtual void on_asked_again(const Choice& /*choice*/, const Why& /*why*/) {}
  virtual void on_switched(const Choice& /*from*/, const Choice& /*to*/, const Why& /*why*/) {}
  virtual void on_breaker(const Choice& /*choice*/, bool /*is_open*/) {}

  // No backend is asked any more.
  virtual void on_given_up(const Choice& /*choice*/, const Why& /*why*/) {}
};

}  // namespace treaty::dispatch
