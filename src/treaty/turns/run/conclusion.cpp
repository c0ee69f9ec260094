#include "treaty/turns/run/conclusion.h"

#include <algorithm>

namespace treaty::turns {

using store::TurnState;

Conclusion conclude_finish(const Finish& finish, const Progress& progress,
                           std::vector<std::string> warnings) {
  Sealed sealed = seal(finish.text);
  return {.state = TurnState::completed,
          .answer = final_response(finish, sealed, progress, std::move(warnings)),
          .notes = std::move(sealed.notes)};
}

Conclusion conclude_asking(const AskClient& ask) {
  return {.state = TurnState::awaiting_tools,
          .answer = continuation_response(ask),
          .pending = ask.calls};
}

Conclusion conclude_failure(const contracts::AgentError& error, std::optional<double> retry_after) {
  return {.state = TurnState::failed,
          .answer = error_of(error),
          .retryable = error.retryable.value_or(false),
          .retry_after = retry_after};
}

Conclusion conclude_failure(const contracts::AgentError& error, const dispatch::Dispatched& call) {
  const auto& limited = call.result.rate_limit;
  const auto retry_after =
      limited && limited->retry_after ? std::optional(limited->retry_after->value()) : std::nullopt;
  Conclusion conclusion = conclude_failure(error, retry_after);
  // Two failures are not the backend's: the house itself says no.
  for (const Reason reason : {Reason::budget_exhausted, Reason::store_unavailable}) {
    if (error.code == code_of(reason)) {
      conclusion.answer = error_of(Refusal{reason, error.message});
    }
  }
  conclusion.limits = call.limits;
  return conclusion;
}

Conclusion conclude_refusal(const Refusal& refusal, TurnState state, bool retryable) {
  return {.state = state, .answer = error_of(refusal), .retryable = retryable};
}

contracts::AgentError interrupted() {
  return {.message =
              "the turn was interrupted: the server stopped while its answer was being "
              "streamed; send the same request again",
          .code = "server_error",
          .type = "interrupted",
          .retryable = true};
}

}  // namespace treaty::turns
