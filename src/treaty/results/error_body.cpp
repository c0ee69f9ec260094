#include "treaty/results/error_body.h"

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::results {
namespace {

constexpr std::size_t kLargestBody = std::size_t{1} << 20U;
constexpr std::size_t kLongestMessage = 4096;
constexpr std::size_t kLongestType = 200;
constexpr std::size_t kMostNames = 64;

// White space runs become one space; what is not UTF-8 becomes '?'; bounded.
std::string one_line(std::string_view text, std::size_t longest = kLongestMessage) {
  std::string out;
  for (text = trimmed(text); !text.empty() && out.size() < longest;) {
    const CodePoint next = read_code_point(text);
    const std::size_t length = std::max<std::size_t>(1, next.length);
    const bool space = next.length == 1 && (next.value <= ' ' || next.value == 0x7F);
    if (next.length == 0) {
      out += '?';
    } else if (!space) {
      out.append(text.substr(0, length));
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
    text.remove_prefix(length);
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// What stands between two tags of a page, without the tags inside it.
std::string between_tags(std::string_view page, std::string_view open, std::string_view close) {
  const std::size_t begin = find_folded(page, open);
  if (begin == std::string_view::npos) return {};
  page.remove_prefix(begin + open.size());
  page.remove_prefix(std::min(page.find('>'), page.size() - 1) + 1);
  page = page.substr(0, find_folded(page, close));
  std::string text;
  bool inside_tag = false;
  for (const char c : page) {
    if (c == '<') inside_tag = true;
    if (!inside_tag) text += c;
    if (c == '>') inside_tag = false;
  }
  return one_line(text);
}

std::string page_message(std::string_view page) {
  for (const auto& [open, close] : {std::pair{"<title", "</title"}, {"<h1", "</h1"}}) {
    if (std::string text = between_tags(page, open, close); !text.empty()) return text;
  }
  return {};
}

// A number or a text of digits that is an HTTP error status.
std::optional<int> as_status(json::Value value) {
  const std::string_view digits = value.is_string() ? trimmed(value.text()) : value.source();
  const auto status = parse_number<int>(digits);
  return status && *status >= 400 && *status <= 599 ? status : std::nullopt;
}

using contracts::RateLimitWindow;

constexpr std::size_t kMostQuotaWindows = 32;

std::optional<Number> quota_value(json::Value violation) {
  const auto value = json::find_member(violation, "quotaValue");
  if (!value || !(value->is_string() || value->is_number())) return std::nullopt;
  const std::string_view digits = value->is_string() ? trimmed(value->text()) : value->source();
  return parse_count(digits);
}

// `GenerateContentPaidTierInputTokensPerModelPerMinute` → tokens_per_minute.
std::optional<RateLimitWindow> window_of(json::Value violation) {
  const std::string_view id = json::find_text(violation, "quotaId");
  const bool per_minute = id.contains("PerMinute");
  if (!per_minute && !id.contains("PerDay")) return std::nullopt;
  const std::string resource = id.contains("Tokens") ? "tokens" : "requests";
  return RateLimitWindow{.name = resource + (per_minute ? "_per_minute" : "_per_day"),
                         .resource = resource,
                         .remaining = Number(0),
                         .limit = quota_value(violation)};
}

bool is_type(json::Value detail, std::string_view name) {
  return json::find_text(detail, "@type").ends_with(name);
}

}  // namespace

bool is_page(std::string_view body) {
  return body.starts_with('<') ||
         find_folded(body.substr(0, 512), "<html") != std::string_view::npos;
}

ErrorBody::ErrorBody(std::string_view body)
    : body_(trimmed(body.substr(0, kLargestBody))),
      document_(body_.starts_with('{') || body_.starts_with('[') ? body_ : std::string_view(),
                {.grammar_only = true}) {
  root_ = document_.root();
  if (root_ && root_->is_array()) {
    root_ = root_->elements().empty() ? std::nullopt : std::optional(*root_->elements().begin());
  }
  if (root_ && !root_->is_object()) root_.reset();
  find_error();
  if (error_) {
    read_names(*error_);
    for (const std::string_view member : {"code", "status_code", "status"}) {
      read_status(*error_, member);
    }
  }
  if (root_) {
    read_names(*root_);
    for (const std::string_view member : {"code", "status_code", "status", "raw_status_code"}) {
      read_status(*root_, member);
    }
  }
  read_message();
}

void ErrorBody::find_error() {
  error_ = json::find_member(root_, "error");
  if (!error_) error_ = json::find_member(json::find_member(root_, "response"), "error");
  if (error_ && !error_->is_object()) error_.reset();
}

void ErrorBody::add_name(json::Value object, std::string_view member) {
  const auto value = json::find_member(object, member);
  if (!value || !value->is_string() || value->text().empty() || names_.size() >= kMostNames) return;
  if (as_status(*value) || value->text() == "error") return;
  names_.push_back(value->text());
  if (!type_.empty() || member == "reason" || member == "error_code") return;
  if (!is_blank(value->text())) type_ = one_line(value->text(), kLongestType);
}

void ErrorBody::read_names(json::Value object) {
  for (const std::string_view member : {"type", "code", "status", "reason"})
    add_name(object, member);
  for (const std::string_view member : {"innererror", "inner_error"}) {
    if (const auto inner = json::find_member(object, member)) add_name(*inner, "code");
  }
  if (const auto details = json::find_member(object, "details")) read_details(*details);
}

void ErrorBody::read_details(json::Value details) {
  if (details.is_object()) add_name(details, "error_code");
  for (const json::Value detail : json::elements_of(details)) add_name(detail, "reason");
}

void ErrorBody::read_status(json::Value object, std::string_view member) {
  if (status_) return;
  const auto value = json::find_member(object, member);
  if (value && (value->is_string() || value->is_number())) status_ = as_status(*value);
}

void ErrorBody::read_message() {
  for (const auto& [object, member] : {std::pair{error_, "message"},
                                       {root_, "message"},
                                       {root_, "error"},
                                       {root_, "detail"},
                                       {error_, "detail"},
                                       {root_, "msg"}}) {
    const auto value = json::find_member(object, member);
    if (!value) continue;
    if (value->is_string()) message_ = one_line(value->text());
    // FastAPI lists what is wrong: as it stands.
    if (value->is_array()) message_ = one_line(value->source());
    if (!message_.empty()) return;
  }
  if (root_ && error_) message_ = one_line(error_->source());
  if (!message_.empty() || root_) return;
  message_ = is_page(body_) ? page_message(body_) : one_line(body_);
}

QuotaFailure read_quota(const ErrorBody& body) {
  QuotaFailure quota;
  for (const json::Value detail : json::elements_of(json::find_member(body.error(), "details"))) {
    if (is_type(detail, "google.rpc.RetryInfo")) {
      const auto delay = json::find_member(detail, "retryDelay");
      if (delay && delay->is_string()) quota.retry_delay = parse_duration(delay->text());
    }
    if (!is_type(detail, "google.rpc.QuotaFailure")) continue;
    for (const json::Value violation : json::elements_of(json::find_member(detail, "violations"))) {
      if (quota.windows.size() == kMostQuotaWindows) break;
      if (auto window = window_of(violation)) quota.windows.push_back(std::move(*window));
    }
  }
  return quota;
}

}  // namespace treaty::results
