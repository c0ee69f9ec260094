#include "treaty/contracts/assistant_response.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/text/leaks.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kNames[] = {
    "assistant_message", "action_taken", "next_steps",
    "confidence_level",  "trace_id",     "response_version",
};
using Members = KnownMembers<kNames>;

constexpr std::array<std::string_view, 3> kLevels = {"high", "medium", "low"};

// ARL-03: insides of summary, intent, task and decision, of models and agents, of the server.
constexpr std::string_view kNeverAllowed[] = {
    "key_points",
    "entities",
    "word_count",
    "sentence_count",
    "timestamp",
    "version",
    "dates_times",
    "context",
    "confidence",
    "original_text",
    "parameters",
    "priority",
    "selected_agent",
    "preferred_llm",
    "device_context",
    "memory_reference",
    "intent",
    "processed_text",
    "voice_output",
    "provider",
    "model",
    "prompt",
    "temperature",
    "top_p",
    "stop",
    "stop_sequences",
    "tokens",
    "agent",
    "agent_name",
    "steps",
    "tool_parameters",
    "stack_trace",
    "env",
    "logs",
    "sentry_id",
    "file_path",
    "db_reference",
};

bool is_never_allowed(std::string_view name) {
  return std::ranges::find(kNeverAllowed, name) != std::end(kNeverAllowed);
}

// A producer is refused, a consumer drops what it does not know.
void report_extra(Inspection& inspection, RuleId rule, const Place& place, std::string message) {
  if (inspection.options().role == Role::consumer) {
    inspection.warn(rule, place, message + "; it is dropped");
  } else {
    inspection.refuse(rule, place, std::move(message), "leave it out: the contract is closed");
  }
}

// At any depth of an extra member. The depth is bounded by JSON-03.
void report_never_allowed(Inspection& inspection, const Place& place) {
  if (place.parent->value.is_object() && is_never_allowed(place.name)) {
    report_extra(inspection, "ARL-03", place,
                 fmt::format("{} is an internal and never shown", place.name));
  }
  if (place.value.is_object()) {
    for (const json::Member member : place.value.members()) {
      report_never_allowed(inspection, {member.value, &place, member.name.text()});
    }
  } else if (place.value.is_array()) {
    std::size_t index = 0;
    for (const json::Value element : place.value.elements()) {
      report_never_allowed(inspection, {element, &place, {}, index++});
    }
  }
}

void inspect_extra(Inspection& inspection, const Place& extra) {
  if (!is_never_allowed(extra.name)) {
    report_extra(inspection, "ARL-02", extra,
                 fmt::format("the contract has no member {}", extra.name));
  }
  report_never_allowed(inspection, extra);
}

// ARL-09 on top of the rule that the text has anyway.
std::string inspect_text(Inspection& inspection, RuleId rule, const Place& place) {
  std::string text = inspection.text(rule, place);
  const std::string_view leak = find_leak(text);
  if (!leak.empty()) {
    inspection.refuse("ARL-09", place, fmt::format("{} shows {}", called(place), leak),
                      "say what happened in words for the user; keep the rest in a log");
  }
  return text;
}

std::vector<std::string> inspect_next_steps(Inspection& inspection, const Place& list) {
  if (!inspection.is_array("ARL-05", &list)) return {};
  return inspect_entries(inspection, list, [](Inspection& in, const Place& step) {
    return inspect_text(in, "ARL-05", step);
  });
}

ConfidenceLevel inspect_level(Inspection& inspection, const Place& place) {
  const std::string_view level = place.value.is_string() ? place.value.text() : "";
  const auto found = std::ranges::find(kLevels, level);
  if (found == kLevels.end()) {
    inspection.refuse("ARL-06", place, "there is no such confidence level",
                      "\"high\", \"medium\" or \"low\"");
    return ConfidenceLevel::medium;
  }
  return static_cast<ConfidenceLevel>(found - kLevels.begin());
}

AssistantResponse inspect_assistant_response(Inspection& inspection, const Place& root) {
  const Members members(inspection, root);
  for (std::size_t field = 0; field < std::size(kNames); ++field) {
    if (members.at(field) == nullptr) inspection.refuse_missing("ARL-01", root, kNames[field]);
  }
  AssistantResponse response;
  if (const Place* message = members["assistant_message"]) {
    response.assistant_message = inspect_text(inspection, "ARL-04", *message);
  }
  if (const Place* action = members["action_taken"]) {
    response.action_taken = inspect_text(inspection, "ARL-04", *action);
  }
  if (const Place* steps = members["next_steps"]) {
    response.next_steps = inspect_next_steps(inspection, *steps);
  }
  if (const Place* level = members["confidence_level"]) {
    response.confidence_level = inspect_level(inspection, *level);
  }
  if (const Place* trace = members["trace_id"]) {
    response.trace_id = inspection.text("ARL-07", *trace);
  }
  if (const Place* version = members["response_version"];
      version != nullptr && !(version->value.is_string() && version->value.text() == "v1")) {
    inspection.refuse("ARL-08", *version, "response_version is not \"v1\"");
  }
  for (const Place& extra : members.unknown()) inspect_extra(inspection, extra);
  return response;
}

}  // namespace

std::string_view name_of(ConfidenceLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

Decoded<AssistantResponse> decode_assistant_response(std::string_view bytes,
                                                     const DecodeOptions& options) {
  return decode_by<AssistantResponse>(inspect_assistant_response, bytes, options,
                                      json::NameCase::exact, kNames);
}

std::string encode(const AssistantResponse& response) {
  json::Writer writer;
  writer.begin_object();
  writer.member("assistant_message", response.assistant_message);
  writer.member("action_taken", response.action_taken);
  writer.member("next_steps", response.next_steps);
  writer.member("confidence_level", name_of(response.confidence_level));
  writer.member("trace_id", response.trace_id);
  writer.member("response_version", "v1");
  return writer.end_object().take();
}

}  // namespace treaty::contracts
