// How a round ends: the state of the turn and what its client is told. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "treaty/contracts/agent_result.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/store/records.h"
#include "treaty/turns/compose.h"
#include "treaty/turns/refusals.h"
#include "treaty/turns/step.h"

namespace treaty::turns {

struct Conclusion {
  store::TurnState state = store::TurnState::completed;
  std::variant<contracts::FinalResponse, contracts::ClientToolContinuation, contracts::InvokeError>
      answer{};
  std::vector<contracts::ToolCall> pending{};  // awaiting_tools.
  bool retryable = false;                      // failed.
  std::optional<double> retry_after{};         // Seconds.
  std::vector<dispatch::LimitLine> limits{};   // failed: what kept it from being served.
  std::vector<StepNote> notes{};
};

// `warnings` are for the user, beside those that the text itself makes necessary.
Conclusion conclude_finish(const Finish& finish, const Progress& progress,
                           std::vector<std::string> warnings);
Conclusion conclude_asking(const AskClient& ask);
Conclusion conclude_failure(const contracts::AgentError& error, std::optional<double> retry_after);
// Of a call that failed or was never made.
Conclusion conclude_failure(const contracts::AgentError& error, const dispatch::Dispatched& call);
Conclusion conclude_refusal(const Refusal& refusal, store::TurnState state, bool retryable);

// A turn that was running when its process ended, after some of its deltas had left.
contracts::AgentError interrupted();

}  // namespace treaty::turns
