// Keeps calls away from a backend that fails again and again. A value.
#pragma once

#include <optional>

#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {

enum class BreakerState { closed, open, probing };

class Breaker {
 public:
  // Closed: anybody. Open: nobody. Open for long enough: one, the probe, until it is told.
  bool lets(Moment now) const;

  // The call that lets() has let go goes now. True: it is the probe.
  bool begin();

  // The probe ended without an answer: cancelled, or never sent.
  void give_up_probe();

  struct Told {
    bool opened = false;
    bool closed = false;
  };
  // `was_probe`: what begin() answered for that call.
  Told tell(const contracts::AgentResult& result, bool was_probe, const Policy& policy, Moment now);

  BreakerState state(Moment now) const;

  int failures = 0;                    // In a row.
  std::optional<Moment> open_until{};  // Absent: closed.
  bool is_probed = false;
};

// Failures of the backend itself. A limit, a key that is refused, a model that does not exist and a
// call that is wrong in itself are not: no wait of 30 s mends them.
bool counts_as_failure(const contracts::AgentError& error);

}  // namespace treaty::dispatch
