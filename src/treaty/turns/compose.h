// How a round ends: the state of the turn and what its client is told, composed of types that
// cannot hold a forbidden bucket, and sealed (RES-30, RES-31, secrets). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/store/records.h"
#include "treaty/turns/refusals.h"
#include "treaty/turns/seal.h"
#include "treaty/turns/settled_turn.h"
#include "treaty/turns/step.h"

namespace treaty::turns {

struct Conclusion {
  store::TurnState state = store::TurnState::completed;
  TypedAnswer answer{};
  std::vector<contracts::ToolCall> pending{};      // awaiting_tools.
  std::optional<contracts::AgentError> failure{};  // failed: as the backend or the engine said it.
  bool retryable = false;                          // failed.
  std::optional<double> retry_after{};             // Seconds.
  std::vector<dispatch::LimitLine> limits{};       // failed: what kept it from being served.
  std::vector<StepNote> notes{};
};

// `warnings` are for the user, beside those that the text itself makes necessary.
Conclusion conclude_finish(const Finish& finish, const Progress& progress,
                           std::vector<std::string> warnings);
Conclusion conclude_asking(const AskClient& ask);
// Of a call that failed or was never made, with what is known of the limits that it met.
Conclusion conclude_failure(const contracts::AgentError& error,
                            const std::optional<contracts::RateLimitState>& limited = {},
                            std::vector<dispatch::LimitLine> limits = {});
Conclusion conclude_refusal(const Refusal& refusal, store::TurnState state, bool retryable);

// A turn that was running when its process ended, after some of its deltas had left.
contracts::AgentError interrupted();

// What was cut at its length has a warning, and so has what the seal changed.
contracts::FinalResponse final_response(const Finish& finish, Sealed sealed,
                                        const Progress& progress,
                                        std::vector<std::string> user_warnings);

contracts::ClientToolContinuation continuation_response(const AskClient& ask);

// A backend's failure as a client is told it: the code is the AgentResult's, the message ours, with
// what to do next. Details are the provider's own words about the request, when they show nothing
// of a server; retryable errors are not fatal.
AnswerError error_of(const contracts::AgentError& error);

}  // namespace treaty::turns
