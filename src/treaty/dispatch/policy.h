// What to do about a backend's answer, or about a backend that cannot be asked now. Pure: every
// decision follows from its arguments and says why in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/agent_result.h"

namespace treaty::dispatch {

// Time as dispatch has it: seconds on a clock that never jumps.
using Moment = double;
using Seconds = double;

// The rules of one entry of a chain, with their defaults.
struct Policy {
  Seconds max_wait = 60;  // For a window, a retry_after, a breaker, a place.
  int max_attempts = 5;   // At one backend, in one call.
  std::vector<Seconds> backoff = {2, 8, 16, 35};  // After each attempt; the last one stays.
  double jitter = 0.1;       // Up to this part more, so that calls do not come back together.
  int max_concurrent = 0;    // Calls at a time; 0: as many as there are.
  int breaker_failures = 5;  // In a row; 0: no breaker.
  Seconds breaker_open = 30;
  bool operator==(const Policy&) const = default;
};

// How long a limit keeps: what is worth waiting for, and what is not.
enum class Span { minute, hour, day };

Span span_of(Seconds length);

// Why a backend cannot be asked now.
enum class Obstacle { window, retry_after, breaker, concurrency, warm_up, line };
std::string_view name_of(Obstacle obstacle);

// What stands between a call and its backend.
struct Delay {
  Obstacle obstacle = Obstacle::window;
  Seconds wait = 0;
  Span span = Span::minute;
  std::string window{};  // The name of the window, when it is one.

  // Others have to end first, nobody knows when: `wait` is until the next look.
  bool is_unknown() const {
    return obstacle == Obstacle::concurrency || obstacle == Obstacle::warm_up ||
           obstacle == Obstacle::line;
  }
};

struct Situation {
  const Policy& policy;
  int attempts = 0;        // Made at this backend, in this call.
  Seconds left = 0;        // Until the deadline.
  Seconds waited = 0;      // For this backend, before this attempt.
  bool has_next = false;   // Another backend of the chain takes this failure.
  bool was_heard = false;  // Text of this call is with the client already.
  double dice = 0;         // 0 to 1, for the jitter.
};

enum class Act { finish, wait, move_on, fail };

struct CallDecision {
  Act act = Act::finish;
  Seconds wait = 0;
  std::string reason{};  // In words, for the events.
};

// Before a call: its backend is not free.
CallDecision decide_before(const Delay& delay, const Situation& situation);

// After an attempt.
CallDecision decide_after(const contracts::AgentResult& result, const Situation& situation);

// The wait before the attempt after `attempts` of them, without jitter.
Seconds backoff_after(const Policy& policy, int attempts);

// Nobody knows better: context_length, content_filter, invalid_request would be refused elsewhere.
bool is_own_fault(std::string_view code);

// What the exhausted windows of a failed call say, or its retry_after alone; nothing when neither
// is there.
std::optional<Delay> delay_of(const contracts::RateLimitState& state);

// The length of a window by its name, in seconds; 0 when the name does not say.
Seconds length_of_window(std::string_view name);

// Seconds until it is full again: as it says, else as its name does (`named`), else a minute.
Seconds reset_of(const contracts::RateLimitWindow& window, Seconds named);

}  // namespace treaty::dispatch
