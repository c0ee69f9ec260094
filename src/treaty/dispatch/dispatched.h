// How a call has ended, whoever answered it, and what kept it if nobody did.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/seconds.h"

namespace treaty::dispatch {

// A limit that keeps a client from being served, for the RateLimit headers.
struct LimitLine {
  std::string name{};
  std::optional<double> quota{};
  Seconds window = 0;  // 0: unknown.
  double remaining = 0;
  Seconds resets_in = 0;
};

struct Dispatched {
  contracts::AgentResult result{};  // Usage and cost are those of all attempts.
  bool was_continued = false;       // By another backend, after text had left.
  std::vector<LimitLine> limits{};  // Of a failure by rate_limit or budget_exhausted.
};

// A failure that dispatch itself has to tell.
inline contracts::AgentResult failure(std::string code, std::string type, std::string message,
                                      bool retryable) {
  return {.finish_reason = "error",
          .error = contracts::AgentError{.message = std::move(message),
                                         .code = std::move(code),
                                         .type = std::move(type),
                                         .retryable = retryable}};
}

}  // namespace treaty::dispatch
