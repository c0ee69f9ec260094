#include "treaty/api/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "treaty/api/invoke_result_renderer.h"
#include "treaty/api/limit_headers.h"
#include "treaty/contracts/text/leaks.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

constexpr std::size_t kMostFindings = 50;
constexpr std::size_t kMostMessage = 300;  // Bytes of one finding's message and pointer.
constexpr double kLongestWait = 86'400;    // Seconds.

// At most `size` bytes, not in the middle of a character.
std::string cut(std::string_view text, std::size_t size) {
  if (text.size() <= size) return std::string(text);
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  return std::string(text.substr(0, size)) + "…";
}

// INV-04: findings quote the client's own text, and Details holds nothing that looks like a path of
// the server, a stack trace or a secret.
std::string detail_line(const contracts::Finding& finding) {
  const std::string_view rule = finding.rule.text();
  const std::string where = cut(finding.where, kMostMessage);
  std::string line = fmt::format("{} {}: {}", rule, where, cut(finding.message, kMostMessage));
  if (contracts::find_leak(line).empty()) return line;
  line = fmt::format("{} {}", rule, where);
  return contracts::find_leak(line).empty() ? line : std::string(rule);
}

std::string details_of(const contracts::Findings& findings) {
  std::string details;
  for (const contracts::Finding& finding : findings) {
    if (!details.empty()) details += '\n';
    if (&finding - findings.data() == static_cast<std::ptrdiff_t>(kMostFindings)) {
      details += fmt::format("and {} more", findings.size() - kMostFindings);
      break;
    }
    details += detail_line(finding);
  }
  // Lines that pass one by one may look like a stack trace together.
  if (!contracts::find_leak(details).empty()) {
    details.clear();
    for (const contracts::Finding& finding : findings) {
      if (!details.contains(finding.rule.text())) {
        details += fmt::format("{}{}", details.empty() ? "" : "\n", finding.rule.text());
      }
    }
  }
  return details;
}

void add_retry_after(http::Response& response, std::optional<double> seconds) {
  if (!seconds) return;
  const double wait = std::clamp(std::ceil(*seconds), 0.0, kLongestWait);
  response.headers.set("retry-after", std::to_string(static_cast<std::int64_t>(wait)));
}

}  // namespace

http::Response json_response(int status, std::string body) {
  return {.status = status,
          .headers = {{"content-type", "application/json; charset=utf-8"},
                      {"cache-control", "no-store"}},
          .body = std::move(body)};
}

http::Response refusal_response(const Refusal& refusal, contracts::Dialect dialect) {
  http::Response response = json_response(turns::status_of(refusal.reason),
                                          invoke_result_renderer().render(refusal, dialect, ""));
  add_retry_after(response, turns::retry_after_of(refusal));
  if (refusal.reason == Reason::unauthenticated) {
    response.headers.set("www-authenticate", "Bearer realm=\"treaty\"");
  }
  return response;
}

http::Response outcome_response(const turns::Outcome& outcome, const turns::Renderer& renderer,
                                contracts::Dialect dialect) {
  http::Response response =
      json_response(renderer.status_of(outcome.error_code), outcome.body_for(renderer, dialect));
  response.headers.set("content-type", renderer.content_type());
  add_retry_after(response, outcome.retry_after);
  if (response.status == 429 || response.status == 503) {
    add_limit_headers(response, outcome.limits);
  }
  return response;
}

Refusal violation_refusal(const contracts::Findings& violations) {
  if (violations.empty()) return {Reason::internal, "the request was refused without a finding"};
  const contracts::Finding& first = violations.front();
  std::string message = cut(first.message, kMostMessage);
  if (!first.hint.empty()) message += "; " + first.hint;
  if (violations.size() > 1) message += fmt::format(" (and {} more)", violations.size() - 1);
  return {.reason = Reason::contract_violation,
          .message = std::move(message),
          .context = cut(first.where, kMostMessage),
          .details = details_of(violations)};
}

std::vector<turns::AnswerError> warnings_of(const contracts::Findings& warnings) {
  std::vector<turns::AnswerError> out;
  for (const contracts::Finding& finding : warnings) {
    if (out.size() == kMostFindings) break;
    out.push_back({.code = "contract_warning",
                   .message = cut(finding.message, kMostMessage),
                   .context = cut(finding.where, kMostMessage),
                   .details = std::string(finding.rule.text())});
  }
  return out;
}

Refusal refusal_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::unavailable:
    case ErrorCode::unwritable:
    case ErrorCode::unreadable:
      return {Reason::store_unavailable, "the store cannot be used now; try again soon"};
    default: return {Reason::internal, "the store failed; the server's log tells more"};
  }
}

Refusal wrong_value(std::string message, std::string context) {
  return {Reason::contract_violation, std::move(message), std::move(context)};
}

}  // namespace treaty::api
