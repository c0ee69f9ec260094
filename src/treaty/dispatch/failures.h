// Failures that dispatch itself has to tell.
#pragma once

#include <string>
#include <utility>

#include "treaty/contracts/agent_result.h"

namespace treaty::dispatch {

inline contracts::AgentResult failure(std::string code, std::string type, std::string message,
                                      bool retryable) {
  return {.finish_reason = "error",
          .error = contracts::AgentError{.message = std::move(message),
                                         .code = std::move(code),
                                         .type = std::move(type),
                                         .retryable = retryable}};
}

}  // namespace treaty::dispatch
