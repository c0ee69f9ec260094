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
using Backoffs = std::vector<Seconds>;

// The rules of one entry of a chain. What is absent depends on the position of the entry:
// default_patience has them.
struct Policy {
  std::optional<Seconds> max_wait{};  // All waits of one call at one backend.
  std::optional<int> max_attempts{};  // At one backend, in one call.
  std::optional<Backoffs> backoff{};  // After each attempt; the last one repeats.
  double jitter = 0.1;       // Up to this part more, so that calls do not come back together.
  int max_concurrent = 0;    // Calls at a time; 0: no limit.
  int breaker_failures = 5;  // In a row; 0: no breaker.
  Seconds breaker_open = 30;
  std::optional<Seconds> connect{};      // Absent: kConnect for providers, else no limit,
  std::optional<Seconds> first_token{};  // by position for providers, else no limit,
  std::optional<Seconds> stall{};        // kStall for providers, else no limit.
  bool operator==(const Policy&) const = default;
};

constexpr Seconds kConnect = 5;
constexpr Seconds kStall = 20;

// The deadline of a turn is kept by another timer: within this it is the same moment.
constexpr Seconds kSameMoment = 0.005;

// What a backend is, as far as timeouts depend on it.
enum class Pace {
  own,   // A process, a machine, a bridge: it has no timeouts unless its entry sets them.
  fast,  // A provider.
  slow,  // A provider whose models reason first, or load on this machine.
};

// How patiently a backend is asked: while another backend is left, and at the last one.
struct Patience {
  Seconds max_wait;
  int max_attempts;
  Backoffs backoff;
};
const Patience& default_patience(bool has_next);

Seconds max_wait_of(const Policy& policy, bool has_next);
int max_attempts_of(const Policy& policy, bool has_next);

// The policy with every default written out that depends on the position and on the backend.
Policy effective_policy(Policy policy, bool has_next, Pace pace);

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
  std::string window{};     // The name of the window, when it is one.
  bool is_unknown = false;  // Other calls have to end first: `wait` is until the next look.
};

struct Situation {
  const Policy& policy;
  int attempts = 0;             // Made at this backend, in this call.
  Seconds left = 0;             // Until the deadline.
  Seconds waited = 0;           // At this backend, in this call.
  bool has_next = false;        // Another backend of the chain takes this failure.
  bool was_heard = false;       // Text of this backend is with the client already.
  bool continues_cuts = false;  // The next backend may continue that text.
  double dice = 0;              // 0 to 1, for the jitter.
};

enum class Act { finish, wait, move_on, fail };

// Which rule led to a decision. Events, logs and GET /v1/limits have its name.
enum class DispatchRule {
  none,
  pacing,         // A limit, a place in the queue or a breaker is waited for.
  retry,          // What may pass is tried again at the same backend.
  max_wait,       // The wait is longer than what is left of max_wait.
  max_attempts,   // It failed as often as it may.
  long_window,    // A window of an hour or more is not waited for.
  breaker,        // The circuit breaker is open, and there is another backend.
  timeout,        // It did not answer within connect, first_token, stall or the provider's timeout.
  not_retryable,  // Another attempt would fail the same way.
  deadline,       // The deadline of the turn leaves no time.
  on_cut,         // Text has left.
  signal,         // A machine waits for a signal.
  prefill,        // The provider does not continue an answer.
  thoughts,       // The provider refuses the thoughts that it is given back.
  budget,         // A budget is exhausted.
  stream,         // The provider does not stream its answers.
};
std::string_view name_of(DispatchRule rule);

struct CallDecision {
  Act act = Act::finish;
  Seconds wait = 0;
  DispatchRule rule = DispatchRule::none;
  std::string reason{};  // In words, for the events.
};

// Before a call: its backend is not free.
CallDecision decide_before(const Delay& delay, const Situation& situation);

// After an attempt.
CallDecision decide_after(const contracts::AgentResult& result, const Situation& situation);

// The wait before the attempt after `attempts` of them, without jitter.
Seconds backoff_after(const Policy& policy, int attempts, bool has_next);

// A timeout of the gateway ended the attempt, and not one that the provider reports.
bool is_own_timeout(const contracts::AgentError& error);

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
