#include "treaty/turns/refusals.h"

#include <algorithm>
#include <array>
#include <utility>

namespace treaty::turns {

std::string_view code_of(Reason reason) {
  switch (reason) {
    case Reason::contract_violation: return "contract_violation";
    case Reason::method_not_allowed: return "method_not_allowed";
    case Reason::unauthenticated: return "unauthenticated";
    case Reason::forbidden: return "forbidden";
    case Reason::session_not_found: return "session_not_found";
    case Reason::turn_not_found: return "turn_not_found";
    case Reason::agent_not_found: return "agent_not_found";
    case Reason::tool_results_mismatch: return "tool_results_mismatch";
    case Reason::turn_superseded: return "turn_superseded";
    case Reason::turn_in_progress: return "turn_in_progress";
    case Reason::agent_mismatch: return "agent_mismatch";
    case Reason::idempotency_conflict: return "idempotency_conflict";
    case Reason::body_too_large: return "body_too_large";
    case Reason::unsupported_media_type: return "unsupported_media_type";
    case Reason::overloaded: return "overloaded";
    case Reason::store_unavailable: return "store_unavailable";
    case Reason::budget_exhausted: return "budget_exhausted";
    case Reason::turn_cancelled: return "turn_cancelled";
    case Reason::turn_expired: return "turn_expired";
    case Reason::not_found: return "not_found";
    case Reason::internal: return "internal";
  }
  return "internal";
}

int status_of(Reason reason) {
  switch (reason) {
    case Reason::contract_violation: return 400;
    case Reason::unauthenticated: return 401;
    case Reason::forbidden: return 403;
    case Reason::session_not_found:
    case Reason::turn_not_found:
    case Reason::agent_not_found:
    case Reason::not_found: return 404;
    case Reason::method_not_allowed: return 405;
    case Reason::tool_results_mismatch:
    case Reason::turn_superseded:
    case Reason::turn_in_progress:
    case Reason::agent_mismatch:
    case Reason::idempotency_conflict:
    case Reason::turn_cancelled:
    case Reason::turn_expired: return 409;
    case Reason::body_too_large: return 413;
    case Reason::unsupported_media_type: return 415;
    case Reason::budget_exhausted: return 429;
    case Reason::internal: return 500;
    case Reason::overloaded:
    case Reason::store_unavailable: return 503;
  }
  return 500;
}

namespace {

constexpr std::array kReasons = {Reason::contract_violation,
                                 Reason::method_not_allowed,
                                 Reason::unauthenticated,
                                 Reason::forbidden,
                                 Reason::session_not_found,
                                 Reason::turn_not_found,
                                 Reason::agent_not_found,
                                 Reason::tool_results_mismatch,
                                 Reason::turn_superseded,
                                 Reason::turn_in_progress,
                                 Reason::agent_mismatch,
                                 Reason::idempotency_conflict,
                                 Reason::body_too_large,
                                 Reason::unsupported_media_type,
                                 Reason::overloaded,
                                 Reason::store_unavailable,
                                 Reason::budget_exhausted,
                                 Reason::turn_cancelled,
                                 Reason::turn_expired,
                                 Reason::not_found,
                                 Reason::internal};

// Failures of a backend, by the code of the AgentResult.
constexpr std::array<std::pair<std::string_view, int>, 8> kBackendStatus = {{
    {"rate_limit", 429},
    {"timeout", 504},
    {"server_error", 502},
    {"auth_error", 502},
    {"invalid_request", 502},
    {"content_filter", 422},
    {"context_length", 422},
    {"model_unavailable", 503},
}};

// The caller can do something about it only by waiting.
bool is_ours(Reason reason) {
  return reason == Reason::overloaded || reason == Reason::store_unavailable ||
         reason == Reason::internal;
}

}  // namespace

AnswerError error_of(const Refusal& refusal) {
  // A conflict with what is going on now may pass; what is wrong with the request will not.
  const bool may_pass = is_ours(refusal.reason) || refusal.reason == Reason::turn_in_progress ||
                        refusal.reason == Reason::budget_exhausted;
  return {.code = std::string(code_of(refusal.reason)),
          .message = refusal.message,
          .is_fatal = !may_pass,
          .is_system = is_ours(refusal.reason),
          .context = refusal.context,
          .details = refusal.details};
}

int status_of_code(std::string_view error_code) {
  const auto reason = std::ranges::find(kReasons, error_code, code_of);
  if (reason != kReasons.end()) return status_of(*reason);
  const auto backend =
      std::ranges::find(kBackendStatus, error_code, &decltype(kBackendStatus)::value_type::first);
  return backend == kBackendStatus.end() ? 502 : backend->second;
}

std::optional<double> retry_after_of(const Refusal& refusal) {
  if (refusal.retry_after) return refusal.retry_after;
  const Reason reason = refusal.reason;
  if (reason == Reason::overloaded || reason == Reason::store_unavailable) return 1;
  if (reason == Reason::budget_exhausted) return 60;
  return std::nullopt;
}

}  // namespace treaty::turns
