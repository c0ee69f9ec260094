// One rate-limit window of a pool: what the provider said last, and what was sent since. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {

// What a call takes out of the windows; tokens are estimates until the answer has told.
struct Cost {
  double requests = 1;
  double input_tokens = 0;
  double output_tokens = 0;

  Cost& operator+=(const Cost& other);
  Cost& operator-=(const Cost& other);
};

constexpr Seconds kLongestReset = 40 * 86'400.0;  // Beyond a month nobody means it.

class Window {
 public:
  // Nothing when the window says nothing that could be kept: no remaining. What contradicts itself
  // is read the careful way.
  static std::optional<Window> make(const contracts::RateLimitWindow& told, Moment now);

  // The same window, told again by a later call; read() leaves out the names, which stay.
  std::optional<Window> read(const contracts::RateLimitWindow& told, Moment now) const;
  void tell(const Window& newer);

  // Its share of a call.
  double share_of(const Cost& cost) const;

  // When there is enough for a call of `share` behind others of `ahead`; `now` when there is.
  Moment free_at(double ahead, double share, Moment now) const;

  // How long it keeps whoever finds it used up: what its name says, else until its reset.
  Seconds reach(Moment now) const;

  // The time between two calls of that share when they are spread over the window; 0: they need not
  // be, since it refills as it goes.
  Seconds gap(double share) const;

  // When its reset has passed: full again but for what was sent since; one that refills has what
  // has flown in until now.
  bool has_passed(Moment now) const { return now >= resets; }
  void begin_anew(Moment now);

  double level(Moment now) const;  // May be below zero.

  // Compares what is told now with what was told some time before. In a window that refills, what
  // is gone and the time until it is back go together; one that ends at once comes closer to its
  // end whatever is gone.
  void weigh(const Window& newer);

  std::string name{};
  std::string resource{};
  std::optional<double> limit{};
  double remaining = 0;  // As of `seen`.
  Moment seen = 0;
  Moment resets = 0;     // Full again.
  Seconds named = 0;     // Its length, if the name says it: 0: it does not.
  Seconds length = 0;    // From one reset to the next, as far as it is known.
  bool refills = false;  // Comes back bit by bit, `rate` a second, not all at once.
  double rate = 0;
  int votes = 0;             // For and against that it refills.
  Moment weighed_at = 0;     // What the last vote was about: how much was gone,
  double weighed_taken = 0;  // and how long until it would be back.
  Seconds weighed_to_full = 0;
  std::uint64_t told_by = 0;  // The call whose answer told it,
  Moment asked = 0;           // when that was sent,
  double used = 0;            // and what calls took since that it cannot know of.
};

}  // namespace treaty::dispatch
