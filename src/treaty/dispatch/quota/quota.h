// What is known of the limits of one (provider, key, model): its newest windows, what was sent
// since they were told, how long a refusal keeps everybody waiting, and how many tokens calls take.
// A value: nothing here knows a thread or a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "treaty/dispatch/policy.h"
#include "treaty/dispatch/quota/window.h"

namespace treaty::dispatch {

// Tokens of a call, by the bytes of its text: four bytes a token at first, then what the model's
// own answers have taught.
struct TokenEstimate {
  double tokens_per_byte = 0.25;
  double fixed_tokens = 0;   // Around any text: what short calls have shown.
  double output_tokens = 0;  // Of an answer.
  bool has_learnt = false;

  Cost cost_of(double bytes) const {
    return {1, fixed_tokens + bytes * tokens_per_byte, output_tokens};
  }
  void learn(double bytes, const contracts::UsageInfo& usage);
};

// The provider says that it was asked too much.
bool is_refused(const contracts::AgentResult& result);

// A retry_after that is longer is not believed: after a day one call asks again.
constexpr Seconds kLongestBlock = 86'400;

// More windows than that nobody has.
constexpr std::size_t kMostWindows = 32;

class Quota {
 public:
  // What keeps a call of that cost behind others that wait; nothing: it may go.
  std::optional<Delay> delay(const Cost& ahead, const Cost& cost, Moment now) const;

  // Counts a call; the number by which its answer is told. Numbers count up.
  std::uint64_t send(const Cost& cost, Moment now);

  // What the answer of a call says. Windows that an older call told do not replace newer ones, but
  // where calls may have overtaken each other the careful one holds.
  void tell(std::uint64_t call, const contracts::AgentResult& result, Moment now);

  // The time to the next call when calls wait for a window.
  Seconds gap(const Cost& cost) const;

  // Passes on to the windows that begin at `now`.
  void advance(Moment now);

  std::vector<Window> windows{};
  Moment blocked_until = 0;  // Nobody is asked before: a 429 said so.

 private:
  struct Sent {
    std::uint64_t number = 0;
    Moment at = 0;
    Cost cost{};
    bool is_answered = false;
  };

  void take(const contracts::RateLimitWindow& told, const Sent& telling, Moment now);
  std::optional<Moment> correct(std::uint64_t call, const contracts::AgentResult& result);
  double used_since(const Window& window, Moment from) const;
  void forget_reflected();

  std::uint64_t last_number_ = 0;
  std::uint64_t last_told_ = 0;  // The newest call whose answer told windows.
  std::deque<Sent> sent_{};      // Those that a window may not have counted yet.
};

}  // namespace treaty::dispatch
