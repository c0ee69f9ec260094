#include "treaty/results/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/results/error_body.h"

namespace treaty::results {
namespace {

enum class Code {
  context_length,
  content_filter,
  model_unavailable,
  auth_error,
  rate_limit,
  timeout,
  server_error,
  invalid_request,
};
constexpr std::array<std::string_view, 8> kCodeNames = {
    "context_length", "content_filter", "model_unavailable", "auth_error",
    "rate_limit",     "timeout",        "server_error",      "invalid_request"};

struct Verdict {
  Code code;
  bool retryable;
};

constexpr Verdict verdict(Code code) {
  return {code, code == Code::rate_limit || code == Code::timeout || code == Code::server_error};
}
constexpr Verdict kBilling = {Code::rate_limit, false};
constexpr Verdict kLoading = {Code::model_unavailable, true};

struct Named {
  std::string_view name;
  Verdict verdict;
};

// Codes, types, statuses and reasons that tell enough by themselves.
constexpr std::array kNamed = std::to_array<Named>({
    {"context_length_exceeded", verdict(Code::context_length)},
    {"too_many_prompt_tokens", verdict(Code::context_length)},
    {"request_too_large", verdict(Code::context_length)},
    {"content_filter", verdict(Code::content_filter)},
    {"ResponsibleAIPolicyViolation", verdict(Code::content_filter)},
    {"content_policy_violation", verdict(Code::content_filter)},
    {"model_not_found", verdict(Code::model_unavailable)},
    {"DeploymentNotFound", verdict(Code::model_unavailable)},
    {"invalid_api_key", verdict(Code::auth_error)},
    {"authentication_error", verdict(Code::auth_error)},
    {"permission_error", verdict(Code::auth_error)},
    {"API_KEY_INVALID", verdict(Code::auth_error)},
    {"UNAUTHENTICATED", verdict(Code::auth_error)},
    {"PERMISSION_DENIED", verdict(Code::auth_error)},
    {"insufficient_quota", kBilling},
    {"enforced_spend_limit_reached", kBilling},
    {"rate_limit_exceeded", verdict(Code::rate_limit)},
    {"rate_limit_error", verdict(Code::rate_limit)},
    {"rate_limited", verdict(Code::rate_limit)},
    {"RESOURCE_EXHAUSTED", verdict(Code::rate_limit)},
    {"RateLimitReached", verdict(Code::rate_limit)},
    {"request_quota_exceeded", verdict(Code::rate_limit)},
    {"too_many_requests_error", verdict(Code::rate_limit)},
    {"timeout_error", verdict(Code::timeout)},
    {"DEADLINE_EXCEEDED", verdict(Code::timeout)},
    {"overloaded_error", verdict(Code::server_error)},
    {"capacity_exceeded", verdict(Code::server_error)},
    {"UNAVAILABLE", verdict(Code::server_error)},
});

constexpr std::array kTooLongWords = std::to_array<std::string_view>(
    {"prompt is too long", "prompt too long", "maximum context length", "max context length",
     "context length is only", "exceeds the context window", "exceeds the maximum number of tokens",
     "input token count", "request too large"});

bool says(std::string_view text, std::string_view words) {
  return find_folded(text, words) != std::string_view::npos;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t begin = 0, at = 0; (at = find_folded(text.substr(begin), word)) != text.npos;) {
    at += begin;
    begin = at + word.size();
    const bool left = at == 0 || !is_word_character(text[at - 1]);
    if (left && (begin == text.size() || !is_word_character(text[begin]))) return true;
  }
  return false;
}

bool names_model(std::string_view message) {
  return has_word(message, "model") || has_word(message, "models");
}

bool says_after(std::string_view text, std::string_view first, std::string_view then) {
  const std::size_t at = find_folded(text, first);
  return at != text.npos && says(text.substr(at + first.size()), then);
}

// `model 'x' not found`, with any of three quotes.
bool says_model_not_found(std::string_view message) {
  return says_after(message, "model '", "' not found") ||
         says_after(message, "model \"", "\" not found") ||
         says_after(message, "model `", "` not found");
}

std::optional<Verdict> by_name(const ErrorBody& body) {
  std::optional<Verdict> first;
  for (const std::string_view name : body.names()) {
    const auto named = std::ranges::find_if(
        kNamed, [&](const Named& entry) { return equal_folded(entry.name, name); });
    if (named != kNamed.end()) {
      // Money decides: the same limit, but waiting does not help.
      if (named->verdict.code == Code::rate_limit && !named->verdict.retryable) return kBilling;
      if (!first) first = named->verdict;
    } else if (!first && name == "not_found_error" && names_model(body.message())) {
      first = verdict(Code::model_unavailable);
    }
  }
  return first;
}

// OpenRouter refuses what its moderation flagged with a 403.
bool is_moderation(const ErrorBody& body) {
  const auto metadata = json::find_member(body.error(), "metadata");
  return says(body.message(), "moderation") || json::find_member(metadata, "flagged_input") ||
         json::find_member(metadata, "reasons");
}

std::optional<Verdict> by_status(int status, const ErrorBody& body) {
  switch (status) {
    case 401: return verdict(Code::auth_error);
    case 402: return kBilling;
    case 403: return verdict(is_moderation(body) ? Code::content_filter : Code::auth_error);
    case 404:
      if (names_model(body.message())) return verdict(Code::model_unavailable);
      return std::nullopt;
    case 408:
    case 504:
    case 524: return verdict(Code::timeout);
    case 413: return verdict(Code::context_length);
    case 429: return verdict(Code::rate_limit);
    case 498:
    case 529: return verdict(Code::server_error);
    case 503:
      if (says(body.message(), "model") && says(body.message(), "loading")) return kLoading;
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Verdict> by_words(std::string_view message, bool has_status) {
  if (std::ranges::any_of(kTooLongWords, [&](auto words) { return says(message, words); })) {
    return verdict(Code::context_length);
  }
  if (says_after(message, "model", "does not exist") || says(message, "has been deprecated") ||
      says_model_not_found(message)) {
    return verdict(Code::model_unavailable);
  }
  if (says(message, "incorrect api key")) return verdict(Code::auth_error);
  if (!has_status && says(message, "timed out")) return verdict(Code::timeout);
  return std::nullopt;
}

bool has_name(const ErrorBody& body, std::string_view name) {
  return std::ranges::find(body.names(), name) != body.names().end();
}

Verdict decide(std::optional<int> status, const ErrorBody& body) {
  const std::optional<Verdict> named = by_name(body);
  const bool limited = status == 429 || (named && named->code == Code::rate_limit);
  if (limited && says(body.message(), "request too large")) return verdict(Code::context_length);
  if (named) return status == 402 && named->code == Code::rate_limit ? kBilling : *named;
  for (const std::optional<int> said : {body.status(), status}) {
    if (!said) continue;
    if (const auto decided = by_status(*said, body)) return *decided;
  }
  if (const auto decided = by_words(body.message(), status.has_value())) return *decided;
  if (!status) {
    return verdict(has_name(body, "invalid_request_error") ? Code::invalid_request
                                                           : Code::server_error);
  }
  return verdict(*status < 500 ? Code::invalid_request : Code::server_error);
}

std::optional<int> effective(std::optional<int> status, const ErrorBody& body) {
  return status && *status >= 400 ? status : body.status();
}

std::string type_of(std::optional<int> status, const ErrorBody& body) {
  if (!body.type().empty()) return body.type();
  return status ? fmt::format("HTTP {}", *status) : std::string();
}

std::string message_of(std::optional<int> status, const ErrorBody& body) {
  if (!is_blank(body.message())) return body.message();
  if (!body.type().empty()) return body.type();
  return status ? fmt::format("HTTP {} without a message", *status) : "there was no answer";
}

}  // namespace

void override_retryable(contracts::AgentError& error, const Headers& headers) {
  const std::string_view should_retry = headers.get("x-should-retry");
  if (equal_folded(should_retry, "true")) error.retryable = true;
  if (equal_folded(should_retry, "false")) error.retryable = false;
}

contracts::AgentError classify_error(const ErrorEvidence& evidence) {
  const ErrorBody body(evidence.body);
  const std::optional<int> status = effective(evidence.status, body);
  const Verdict verdict = decide(status, body);
  contracts::AgentError error{
      .message = mask_secrets(message_of(status, body), evidence.known_secret),
      .code = std::string(kCodeNames[static_cast<std::size_t>(verdict.code)]),
      .retryable = verdict.retryable};
  if (const std::string type = type_of(status, body); !type.empty()) {
    error.type = mask_secrets(type, evidence.known_secret);
  }
  if (status && *status <= 599) error.status_code = *status;
  override_retryable(error, evidence.headers);
  return error;
}

}  // namespace treaty::results
