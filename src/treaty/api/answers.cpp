#include "treaty/api/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

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

// --- RateLimit and RateLimit-Policy

constexpr std::size_t kMostLimits = 8;
constexpr std::size_t kLongestLimitName = 64;

// A String of structured fields has printable ASCII; a provider's name may have anything.
std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name.substr(0, kLongestLimitName)) {
    if (c < ' ' || c > '~') {
      out += '?';
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// An Integer of structured fields has fifteen digits.
std::int64_t integer_of(double whole) {
  constexpr double kMost = 999'999'999'999'999;
  return std::isnan(whole) ? 0 : static_cast<std::int64_t>(std::clamp(whole, 0.0, kMost));
}

// Each name once, as it is written: two limits of one name would contradict each other.
struct NamedLimit {
  std::string name;
  const dispatch::LimitLine& limit;
};

std::vector<NamedLimit> named(std::span<const dispatch::LimitLine> limits) {
  std::vector<NamedLimit> out;
  for (const dispatch::LimitLine& limit : limits) {
    if (out.size() == kMostLimits) break;
    std::string name = quoted_name(limit.name);
    const bool is_there =
        std::ranges::any_of(out, [&](const NamedLimit& one) { return one.name == name; });
    if (!is_there) out.push_back({std::move(name), limit});
  }
  return out;
}

http::Response rendered_response(const turns::Renderer& renderer, int status, std::string body) {
  return {.status = status,
          .headers = {{"content-type", renderer.content_type()}, {"cache-control", "no-store"}},
          .body = std::move(body)};
}

void append_item(std::string& field, const std::string& item) {
  if (!field.empty()) field += ", ";
  field += item;
}

}  // namespace

http::Response json_response(int status, std::string body) {
  return {.status = status,
          .headers = {{"content-type", "application/json; charset=utf-8"},
                      {"cache-control", "no-store"}},
          .body = std::move(body)};
}

http::Response refusal_response(const Refusal& refusal, const turns::Renderer& renderer,
                                contracts::Dialect dialect) {
  http::Response response = rendered_response(renderer, turns::status_of(refusal.reason),
                                              renderer.render(refusal, dialect, ""));
  add_retry_after(response, turns::retry_after_of(refusal));
  if (refusal.reason == Reason::unauthenticated) {
    response.headers.set("www-authenticate", "Bearer realm=\"treaty\"");
  }
  return response;
}

http::Response outcome_response(const turns::Outcome& outcome, const turns::Renderer& renderer,
                                contracts::Dialect dialect) {
  http::Response response = rendered_response(renderer, renderer.status_of(outcome.error_code),
                                              outcome.body_for(renderer, dialect));
  add_retry_after(response, outcome.retry_after);
  if (response.status == 429 || response.status == 503) {
    add_limit_headers(response, outcome.limits);
  }
  return response;
}

std::string rate_limit_field(std::span<const dispatch::LimitLine> limits) {
  std::string field;
  for (const auto& [name, limit] : named(limits)) {
    append_item(field, fmt::format("{};r={};t={}", name, integer_of(std::floor(limit.remaining)),
                                   integer_of(std::ceil(limit.resets_in))));
  }
  return field;
}

std::string rate_limit_policy_field(std::span<const dispatch::LimitLine> limits) {
  std::string field;
  for (const auto& [name, limit] : named(limits)) {
    if (!limit.limit) continue;
    std::string item = fmt::format("{};q={}", name, integer_of(std::floor(*limit.limit)));
    if (limit.length > 0) item += fmt::format(";w={}", integer_of(std::ceil(limit.length)));
    append_item(field, item);
  }
  return field;
}

void add_limit_headers(http::Response& response, std::span<const dispatch::LimitLine> limits) {
  if (const std::string field = rate_limit_field(limits); !field.empty()) {
    response.headers.set("ratelimit", field);
  }
  if (const std::string field = rate_limit_policy_field(limits); !field.empty()) {
    response.headers.set("ratelimit-policy", field);
  }
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
