// From a step to the answer that leaves: composed of types that cannot hold a forbidden bucket,
// sealed (RES-30, RES-31, secrets), checked once more. Pure.
#pragma once

#include <string>
#include <vector>

#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/invoke_result.h"
#include "treaty/turns/step.h"
#include "treaty/turns/text/seal.h"

namespace treaty::turns {

// What was cut at its length has a warning, and so has what the seal changed.
contracts::FinalResponse final_response(const Finish& finish, const Sealed& sealed,
                                        const Progress& progress,
                                        std::vector<std::string> user_warnings);

contracts::ClientToolContinuation continuation_response(const AskClient& ask);

// A backend's failure as an error of the InvokeResult: the code is the AgentResult's, the message
// ours, with what to do next. Details are the provider's own words about the request, when they
// show nothing of a server; retryable errors are not fatal.
contracts::InvokeError error_of(const contracts::AgentError& error);

// The InvokeResult as bytes. When what was composed breaks its own contract, that is a bug of ours:
// the answer is then an `internal` error, and `broken` holds the rules.
struct Written {
  std::string body;
  std::string error_code{};  // Of the first error; empty when successful.
  std::vector<std::string> broken{};
};
Written write_checked(const contracts::InvokeResult& result, contracts::Dialect dialect);

}  // namespace treaty::turns
