// How a request is getting on, on stderr: a line that counts the seconds on a terminal, and one
// line when it is answered everywhere.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "treaty/base/mutex.h"
#include "treaty/bridge/exchange.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::cli {

// "phase 2 (review)"; "request" when it names no phase.
std::string phase_text(const bridge::Exchange& exchange);

// "phase 2 (review) · agent default · 1.2 s · 12 tokens in, 3 out · success".
std::string answer_line(const bridge::Exchange& exchange,
                        const contracts::BridgeResponse& response);

// A line on stderr; the counter of a Waiting moves below it.
void tell_beside_counter(const std::string& line);

// Calls a function when time is up, and again and again as long as it lives: what the function is
// to end may not have begun yet. The function runs on a thread of its own.
class Repeater {
 public:
  Repeater(std::chrono::milliseconds first, std::function<void()> act);
  ~Repeater();
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;

  bool has_acted() const { return has_acted_; }

 private:
  bool wait_until(std::chrono::steady_clock::time_point time);

  Mutex mutex_{};
  ConditionVariable changed_{};
  bool is_stopped_ TREATY_GUARDED_BY(mutex_) = false;
  std::atomic<bool> has_acted_ = false;
  std::thread thread_;
};

// Counts the seconds on a terminal as long as it lives, and leaves no trace there.
class Waiting {
 public:
  Waiting(const bridge::Exchange& exchange, const std::string& agent);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::optional<Repeater> counter_{};
};

}  // namespace treaty::cli
