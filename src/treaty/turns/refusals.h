// Why the server refuses a request: one closed list, each entry with its code and HTTP status.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"

namespace treaty::turns {

enum class Reason {
  contract_violation,
  method_not_allowed,
  unauthenticated,
  forbidden,
  session_not_found,
  turn_not_found,
  agent_not_found,
  tool_results_mismatch,
  turn_superseded,
  turn_in_progress,
  agent_mismatch,
  idempotency_conflict,
  body_too_large,
  unsupported_media_type,
  overloaded,
  store_unavailable,
  budget_exhausted,
  turn_cancelled,
  turn_expired,
  not_found,
  internal,
};

struct Refusal {
  Reason reason;
  std::string message;                   // What happened, and what to do next.
  std::optional<std::string> context{};  // The place: a JSON pointer, an id.
  std::optional<std::string> details{};  // Rule ids and differences.
  std::optional<double> retry_after{};   // Seconds, when more is known than the reason tells.
};

Refusal session_unknown();
Refusal turn_unknown();
Refusal turn_unanswered();
Refusal store_refusal(const Error& error);  // Of a call of the store.

std::string_view code_of(Reason reason);
int status_of(Reason reason);

// What went wrong, or what to mind, as a client is told it. No stack trace, no path of the server,
// no secret.
struct AnswerError {
  std::string code{};      // Never blank.
  std::string message{};   // What happened, and what to do next.
  bool is_fatal = false;   // Trying again as it is will not help.
  bool is_system = false;  // Not the caller's fault.
  std::optional<std::string> context{};
  std::optional<std::string> details{};
  bool operator==(const AnswerError&) const = default;
};

AnswerError error_of(const Refusal& refusal);

// The HTTP status of an answer's error code: of a Reason, or of a backend's failure
// (docs/reference/api.md, "Errors").
int status_of_code(std::string_view error_code);

// Seconds to wait before the same is tried again; nothing when waiting does not help.
std::optional<double> retry_after_of(const Refusal& refusal);

}  // namespace treaty::turns
