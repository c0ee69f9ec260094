#include "treaty/contracts/bridge_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>

#include "treaty/base/json_write.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/contracts/text/handwritten_json.h"

namespace treaty::contracts {
namespace {

bool says_something(const Place* place) {
  return unless_null(place) != nullptr && !is_blank_text(place);
}

bool holds_envelope(const Place& text) {
  if (!text.value.is_string()) return is_envelope(text.value);
  const HandwrittenJson json = rewrite_as_json(text.value.text());
  const json::Document document(json.text);
  return document.faults().empty() && document.root() && is_envelope(*document.root());
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_word_of_failure(std::string_view text) {
  constexpr std::string_view kWords[] = {"error",    "failed",  "failure",   "aborted",
                                         "canceled", "crashed", "cancelled", kTimeout};
  return is_one_of(text, kWords);
}

// Whether a name is that of a kind of failure, such as `rate_limit_error`, `RateLimitError` or
// `error_max_turns`. `failure_analysis` is a topic, and `no_error` says the opposite.
bool names_failure(std::string_view name) {
  const auto is_in_name = [](char c) { return is_word_character(c) || c == '-'; };
  if (!std::ranges::all_of(name, is_in_name)) return false;
  const std::string text = folded(name);
  const std::string_view last = std::string_view(text).substr(text.find_last_of("_-") + 1);
  const bool is_negated = text.starts_with("no") && text.find_first_of("_-") <= 3;
  return !is_negated && (is_word_of_failure(last) || name.ends_with("Error") ||
                         text.starts_with("error_max") || text.starts_with("error_during"));
}

bool says_no_failure(std::string_view folded_text) {
  constexpr std::string_view kWords[] = {"",     "0",     "ok",      "none",
                                         "null", "false", "success", "no_error"};
  return is_one_of(folded_text, kWords);
}

constexpr std::string_view kReports[] = {
    "error",       "errors",        "is_error",     "iserror",    "exception", "traceback",
    "stack_trace", "error_message", "errormessage", "error_type", "errortype"};

// A dictionary as Python prints it, which is not JSON.
bool is_printed_report(std::string_view text) {
  constexpr std::string_view kNothing[] = {"None", "False", "0", "''", "\"\"", "[]", "{}"};
  const std::string_view said = trimmed(text);
  if (!said.starts_with("{'")) return false;
  return std::ranges::any_of(kReports, [&](std::string_view name) {
    const std::string key = fmt::format("'{}':", name);
    const std::size_t at = said.find(key);
    if (at == std::string_view::npos) return false;
    const std::string_view value = trimmed(said.substr(at + key.size()));
    return std::ranges::none_of(kNothing,
                                [&](std::string_view none) { return value.starts_with(none); });
  });
}

// The agent's text is a word of failure, or a document that may report one, as an object or as the
// text of one.
bool holds_failure(const Place& text) {
  if (!text.value.is_string()) return !failure_report_in(text.value).empty();
  const std::string_view said = text.value.text();
  return is_word_of_failure(folded(trimmed(said))) || is_printed_report(said) ||
         !failure_report_in(said).empty();
}

// A number, or the text of one.
std::optional<double> number_in(json::Value value) {
  if (value.is_number()) return value.number();
  return value.is_string() ? parse_number<double>(trimmed(value.text())) : std::nullopt;
}

// False, however it is written. Null says nothing.
bool is_negative(json::Value value) {
  constexpr std::string_view kWords[] = {"false", "no"};
  if (value.source() == "false") return true;
  if (value.is_string() && is_one_of(folded(trimmed(value.text())), kWords)) return true;
  return number_in(value) == 0.0;
}

// Of HTTP, or of JSON-RPC, whose codes are negative.
bool is_code_of_failure(double code) {
  constexpr double kFirstError = 400;
  constexpr double kPastErrors = 600;
  return code < 0 || (code >= kFirstError && code < kPastErrors);
}

// An agent that has no error_message may have reported its failure in the metadata.
bool metadata_reports_failure(const EnvelopeMembers& members) {
  const Place* metadata = members["metadata"];
  return metadata != nullptr && !failure_report_in(metadata->value).empty();
}

}  // namespace

bool is_blank_text(const Place* place) {
  return place != nullptr && place->value.is_string() && is_blank(place->value.text());
}

bool may_report_failure(std::string_view member, json::Value value) {
  constexpr std::string_view kSuccess[] = {"success", "ok", "is_success", "issuccess"};
  constexpr std::string_view kCounted[] = {"succeeded", "successful"};
  constexpr std::string_view kEndings[] = {"status",        "state",       "outcome", "result",
                                           "finish_reason", "stop_reason", "type",    "kind"};
  constexpr std::string_view kKinds[] = {"type", "subtype", "kind", "code"};
  constexpr std::string_view kCodes[] = {"code", "status", "status_code", "statuscode",
                                         "http_status"};
  constexpr std::string_view kOwnCodes[] = {"error_code", "errorcode"};
  constexpr std::string_view kExits[] = {"exit_code", "exitcode", "returncode", "return_code"};
  const std::string name = folded(member);
  const std::string text = value.is_string() ? folded(trimmed(value.text())) : "";
  if (is_one_of(name, kSuccess)) return is_negative(value);
  if (is_one_of(name, kCounted)) return !number_in(value) && is_negative(value);
  if (name == "failed") return value.source() == "true";  // A number counts what failed.
  if (name == "err")
    return value.is_string() && !says_no_failure(text);  // A number is a deviation.
  if (is_one_of(name, kEndings) && is_word_of_failure(text)) return true;
  if (is_one_of(name, kKinds) && value.is_string() && names_failure(trimmed(value.text()))) {
    return true;
  }
  const auto number = number_in(value);
  if (is_one_of(name, kCodes) && number && is_code_of_failure(*number)) return true;
  if (is_one_of(name, kOwnCodes)) return number ? *number != 0 : !says_no_failure(text);
  if (is_one_of(name, kExits)) return number && *number != 0;
  if (!is_one_of(name, kReports)) return false;
  if (value.is_string()) return !text.empty();
  const std::string source = json::minified(value);
  return source != "null" && source != "false" && source != "0" && source != "[]" && source != "{}";
}

bool is_envelope(json::Value value) {
  if (!value.is_object() || !value.members().find("request_id")) return false;
  return value.members().find("status") || value.members().find("response") ||
         value.members().find("error_message");
}

std::string envelope_in(json::Value document) {
  if (!document.is_object()) return {};
  for (const json::Member member : document.members()) {
    if (is_envelope(member.value)) return std::string(member.name.text());
  }
  return {};
}

std::string failure_report_in(json::Value document) {
  if (!document.is_object()) return {};
  for (const json::Member member : document.members()) {
    const std::string_view name = member.name.text();
    if (may_report_failure(name, member.value)) return std::string(name);
    const std::string inner = failure_report_in(member.value);
    if (!inner.empty()) return fmt::format("{}.{}", name, inner);
  }
  return {};
}

std::string failure_report_in(std::string_view text) {
  const HandwrittenJson json = rewrite_as_json(text);
  const json::Document document(json.text);
  const bool is_json = document.faults().empty() && document.root();
  return is_json ? failure_report_in(*document.root()) : std::string();
}

MeantStatus meant_status(const EnvelopeMembers& members, const Place* text) {
  const Place* type = members["error_type"];
  const bool fails = says_something(members["error_message"]) || says_something(type);
  if (!says_something(text)) {
    if (!fails) return {.why_unclear = "and neither response nor error_message has a text"};
    const bool is_timeout =
        says_something(type) && type->value.is_string() && type->value.text() == kTimeout;
    return {.status = is_timeout ? kTimeout : "error"};
  }
  if (metadata_reports_failure(members)) {
    return {.why_unclear = "and metadata may report a failure"};
  }
  if (holds_failure(*text)) return {.why_unclear = "and response itself may report a failure"};
  if (holds_envelope(*text)) return {.why_unclear = "and response is itself a whole envelope"};
  if (fails) return {.why_unclear = "and response and the error contradict each other"};
  return {.status = "success"};
}

}  // namespace treaty::contracts
