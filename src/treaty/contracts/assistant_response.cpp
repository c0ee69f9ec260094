#include "treaty/contracts/assistant_response.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/ids.h"
#include "treaty/base/json_write.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/text/internals.h"

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

// ARL-09.
void inspect_internals(Inspection& inspection, const Place& place, std::string_view text) {
  const std::string_view shown = find_internals(text);
  if (shown.empty()) return;
  inspection.refuse("ARL-09", place, fmt::format("{} shows {}", called(place), shown),
                    "say what happened in words for the user; keep the rest in a log");
}

// --- Safe fallbacks

// What a producer that cannot do better writes (Determinism Guarantee), as JSON.
class Fallbacks {
 public:
  explicit Fallbacks(Inspection& inspection) : inspection_(inspection) {}

  // Only a producer repairs its own document: a consumer does not make up what it was sent.
  bool apply() const {
    return inspection_.lenient() && inspection_.options().role == Role::producer;
  }

  // ARL-01. One edit puts in all that is missing, since edits at one place have no order.
  void add_missing(const Members& members, AssistantResponse& response) {
    std::string json;
    const Place& root = members.object();
    std::optional<std::string_view> first;
    for (std::size_t field = 0; field < std::size(kNames); ++field) {
      if (members.at(field) != nullptr || !apply()) continue;
      if (first) json += fmt::format(", \"{}\": ", kNames[field]);
      if (!first) first = kNames[field];
      json += fallback_of(kNames[field], response);
    }
    for (std::size_t field = 0; field < std::size(kNames); ++field) {
      if (members.at(field) != nullptr) continue;
      if (!first) {
        inspection_.refuse_missing("ARL-01", root, kNames[field]);
        continue;
      }
      std::vector<Edit> edits;
      if (kNames[field] == *first) edits.push_back(insertion_into(root, *first, json));
      inspection_.repair_missing(
          "ARL-01", root, kNames[field],
          fmt::format("{} is missing; the fallback of the contract is added", kNames[field]), {},
          std::move(edits));
    }
  }

  // A member that is there and cannot be used: refused, or replaced by its fallback. `place` is
  // what is wrong with it, `member` what is replaced.
  void replace(RuleId rule, const Place& place, const Place& member, std::string message,
               std::string hint, AssistantResponse& response) {
    if (!apply()) {
      inspection_.refuse(rule, place, std::move(message), std::move(hint));
      return;
    }
    std::vector<Edit> edits;
    if (replaced_ != &member) {
      edits.push_back(replacement_of(member, fallback_of(member.name, response)));
    }
    const bool is_replaced = inspection_.repair(
        rule, place,
        fmt::format("{}; the fallback of the contract replaces {}", message, member.name),
        std::move(hint), std::move(edits));
    if (is_replaced) replaced_ = &member;
  }

 private:
  // The fallback as JSON; the response gets its value.
  static std::string fallback_of(std::string_view name, AssistantResponse& response) {
    std::string text;
    if (name == "next_steps") {
      response.next_steps.clear();
      return "[]";
    }
    if (name == "assistant_message") {
      text = response.assistant_message = kMessageFallback;
    } else if (name == "action_taken") {
      text = response.action_taken = kActionFallback;
    } else if (name == "confidence_level") {
      response.confidence_level = ConfidenceLevel::medium;
      text = name_of(response.confidence_level);
    } else if (name == "trace_id") {
      if (response.trace_id.empty()) response.trace_id = new_uuid();
      text = response.trace_id;
    } else {
      text = "v1";
    }
    std::string json;
    json::append_quoted(json, text);
    return json;
  }

  Inspection& inspection_;
  const Place* replaced_ = nullptr;  // One edit is enough for a list with many faults.
};

// Why a text is not one: it is of another type, or blank. Empty when it is one.
std::string why_no_text(const Place& place) {
  if (!place.value.is_string()) {
    return fmt::format("{} is {}, not a string", called(place), a_kind_of(place.value.type()));
  }
  return is_blank(place.value.text()) ? fmt::format("{} is blank", called(place)) : "";
}

// --- Members

// A string that is not blank, or its fallback, into `text`, which is a member of `response`.
void inspect_text(Inspection& inspection, RuleId rule, const Place& place,
                  AssistantResponse& response, std::string& text) {
  std::string why = why_no_text(place);
  if (why.empty()) {
    text = place.value.text();
  } else {
    Fallbacks(inspection).replace(rule, place, place, std::move(why), {}, response);
  }
}

void inspect_next_steps(Inspection& inspection, const Place& list, AssistantResponse& response) {
  Fallbacks fallbacks(inspection);
  if (!list.value.is_array()) {
    fallbacks.replace("ARL-05", list, list,
                      fmt::format("next_steps is {}, not an array", a_kind_of(list.value.type())),
                      {}, response);
    return;
  }
  bool all = true;
  auto steps = inspect_entries(inspection, list, [&](Inspection& in, const Place& step) {
    const std::string why = why_no_text(step);
    if (why.empty()) {
      inspect_internals(in, step, step.value.text());
      return std::string(step.value.text());
    }
    all = false;
    fallbacks.replace("ARL-05", step, list, why, {}, response);
    return std::string();
  });
  if (all) response.next_steps = std::move(steps);
}

void inspect_level(Inspection& inspection, const Place& place, AssistantResponse& response) {
  const std::string_view level = place.value.is_string() ? place.value.text() : "";
  const auto found = std::ranges::find(kLevels, level);
  if (found == kLevels.end()) {
    Fallbacks(inspection)
        .replace("ARL-06", place, place, "there is no such confidence level",
                 "\"high\", \"medium\" or \"low\"", response);
  } else {
    response.confidence_level = static_cast<ConfidenceLevel>(found - kLevels.begin());
  }
}

AssistantResponse inspect_assistant_response(Inspection& inspection, const Place& root) {
  const Members members(inspection, root);
  AssistantResponse response;
  Fallbacks(inspection).add_missing(members, response);
  if (const Place* message = members["assistant_message"]) {
    inspect_text(inspection, "ARL-04", *message, response, response.assistant_message);
    inspect_internals(inspection, *message, response.assistant_message);
  }
  if (const Place* action = members["action_taken"]) {
    inspect_text(inspection, "ARL-04", *action, response, response.action_taken);
    inspect_internals(inspection, *action, response.action_taken);
  }
  if (const Place* steps = members["next_steps"]) inspect_next_steps(inspection, *steps, response);
  if (const Place* level = members["confidence_level"]) inspect_level(inspection, *level, response);
  if (const Place* trace = members["trace_id"]) {
    inspect_text(inspection, "ARL-07", *trace, response, response.trace_id);
  }
  if (const Place* version = members["response_version"];
      version != nullptr && !(version->value.is_string() && version->value.text() == "v1")) {
    Fallbacks(inspection)
        .replace("ARL-08", *version, *version, "response_version is not \"v1\"", {}, response);
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
