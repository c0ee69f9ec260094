// How a request is getting on, on stderr: a line that counts the seconds on a terminal, and one
// line when it is answered everywhere.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "treaty/bridge/exchange.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::cli {

// "phase 2 (review)"; "request" when it names no phase.
std::string phase_text(const bridge::Exchange& exchange);

// "phase 2 (review) · agent default · 1.2 s · 12 tokens in, 3 out · success".
std::string answer_line(const bridge::Exchange& exchange,
                        const contracts::BridgeResponse& response);

// Counts on a terminal as long as it lives, and leaves no trace there.
class Waiting {
 public:
  Waiting(const bridge::Exchange& exchange, const std::string& agent);

 private:
  void count(const std::stop_token& stop);

  std::string what_;
  std::mutex mutex_{};
  std::condition_variable_any changed_{};
  std::jthread thread_{};
};

}  // namespace treaty::cli
