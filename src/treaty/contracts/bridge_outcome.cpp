#include "treaty/contracts/bridge_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

bool says_something(const Place* place) {
  return unless_null(place) != nullptr && !is_blank_text(place);
}

// A document of the agent that may report its failure, as an object or as the text of one.
bool holds_failure(const Place& text) {
  const std::string report =
      text.value.is_string() ? failure_report_in(text.value.text()) : failure_report_in(text.value);
  return !report.empty();
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
  const std::string name = folded(member);
  const std::string text = value.is_string() ? folded(value.text()) : "";
  if (name == "success" || name == "ok") return value.source() == "false";
  if (name == "status" || name == "finish_reason" || name == "stop_reason") {
    return text == "error" || text == "failed" || text == "failure" || text == "aborted" ||
           text == "cancelled" || text == kTimeout;
  }
  if (name == "failed") return value.source() == "true";  // A number counts what failed.
  constexpr std::string_view kReports[] = {
      "error",       "errors",        "is_error",     "iserror",    "exception", "traceback",
      "stack_trace", "error_message", "errormessage", "error_type", "errortype"};
  if (std::ranges::find(kReports, name) == std::ranges::end(kReports)) return false;
  if (value.is_string()) return !is_blank(text);
  const std::string source = json::minified(value);
  return source != "null" && source != "false" && source != "0" && source != "[]" && source != "{}";
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
  const json::Document document(text);
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
  if (fails) return {.why_unclear = "and response and the error contradict each other"};
  return {.status = "success"};
}

}  // namespace treaty::contracts
