#include "treaty/turns/refusals.h"

#include <algorithm>
#include <array>
#include <utility>

namespace treaty::turns {
namespace {

struct ReasonRow {
  Reason reason;
  std::string_view code;
  int status;  // Of HTTP.
};
// In the order of the enumeration.
constexpr std::array kReasons = std::to_array<ReasonRow>({
    {Reason::contract_violation, "contract_violation", 400},
    {Reason::method_not_allowed, "method_not_allowed", 405},
    {Reason::unauthenticated, "unauthenticated", 401},
    {Reason::forbidden, "forbidden", 403},
    {Reason::session_not_found, "session_not_found", 404},
    {Reason::turn_not_found, "turn_not_found", 404},
    {Reason::agent_not_found, "agent_not_found", 404},
    {Reason::tool_results_mismatch, "tool_results_mismatch", 409},
    {Reason::turn_superseded, "turn_superseded", 409},
    {Reason::turn_in_progress, "turn_in_progress", 409},
    {Reason::agent_mismatch, "agent_mismatch", 409},
    {Reason::idempotency_conflict, "idempotency_conflict", 409},
    {Reason::body_too_large, "body_too_large", 413},
    {Reason::unsupported_media_type, "unsupported_media_type", 415},
    {Reason::overloaded, "overloaded", 503},
    {Reason::store_unavailable, "store_unavailable", 503},
    {Reason::budget_exhausted, "budget_exhausted", 429},
    {Reason::turn_cancelled, "turn_cancelled", 409},
    {Reason::turn_expired, "turn_expired", 409},
    {Reason::not_found, "not_found", 404},
    {Reason::internal, "internal", 500},
});

constexpr const ReasonRow& row_of(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}
static_assert(kReasons.size() == static_cast<std::size_t>(Reason::internal) + 1);
static_assert(std::ranges::all_of(kReasons, [](const ReasonRow& row) {
  return &row == &row_of(row.reason);
}));

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

Refusal session_unknown() {
  return {Reason::session_not_found,
          "there is no such session: open one with POST /v1/sessions, or send a first request"};
}

Refusal turn_unknown() {
  return {Reason::turn_not_found, "there is no such turn: GET /v1/sessions/{s}/turns lists them"};
}

Refusal turn_unanswered() {
  return {Reason::turn_cancelled, "the turn ended before this request was answered"};
}

Refusal store_refusal(const Error& error) {
  if (error.code == ErrorCode::not_found) return session_unknown();
  if (error.code == ErrorCode::conflict) {
    return {Reason::turn_in_progress, "the session changes at this moment: try again"};
  }
  return {Reason::store_unavailable,
          "the journal cannot be written or read now: nothing was changed; try again later"};
}

std::string_view code_of(Reason reason) { return row_of(reason).code; }

int status_of(Reason reason) { return row_of(reason).status; }

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
  const auto* reason = std::ranges::find(kReasons, error_code, &ReasonRow::code);
  if (reason != kReasons.end()) return reason->status;
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
