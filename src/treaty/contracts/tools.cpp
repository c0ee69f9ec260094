#include "treaty/contracts/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "treaty/base/text.h"
#include "treaty/contracts/inspection/edits.h"

namespace treaty::contracts {
namespace {

using Ids = std::unordered_set<std::string_view>;

constexpr std::string_view kCallNames[] = {"ToolCallId", "Name", "ArgumentsJson"};

constexpr std::string_view kResultNames[] = {"ToolCallId", "ExecutionMs", "ResultJson",
                                             "ErrorMessage"};

constexpr std::size_t kLongestToolName = 64;

std::string inspect_arguments(Inspection& inspection, const Place* place) {
  if (place == nullptr) return {};
  if (!place->value.is_string()) {
    inspection.refuse(
        "TOOL-01", *place,
        fmt::format("{} is {}, not a string", place->name, a_kind_of(place->value.type())),
        "encode the arguments: a JSON object as text, inside a JSON string");
    return {};
  }
  const std::string_view text = place->value.text();
  if (json::type_of_json(text) != json::Type::object) {
    inspection.refuse("TOOL-01", *place, fmt::format("{} does not hold a JSON object", place->name),
                      text.empty() ? "a call without arguments has \"{}\"" : "");
  }
  return std::string(text);
}

ToolCall inspect_tool_call(Inspection& inspection, const Place& place, Ids& seen) {
  ToolCall call;
  if (!inspection.is_object("TOOL-01", &place)) return call;
  const KnownMembers<kCallNames> members(inspection, place);
  call.tool_call_id = members.required_text("TOOL-01", "ToolCallId");
  if (!call.tool_call_id.empty() && !seen.insert(members["ToolCallId"]->value.text()).second) {
    inspection.refuse("TOOL-02", *members["ToolCallId"],
                      fmt::format("the id \"{}\" is used by an earlier call", call.tool_call_id));
  }
  call.name = members.required_text("TOOL-01", "Name");
  if (!call.name.empty() && !is_tool_name(call.name)) {
    inspection.refuse("TOOL-02", *members["Name"],
                      "a tool's name has 1 to 64 letters, digits, underscores and hyphens");
  }
  call.arguments_json = inspect_arguments(
      inspection,
      members.required("TOOL-01", "ArgumentsJson", "a call without arguments has \"{}\""));
  for (const Place& extra : members.unknown()) {
    inspection.warn("RES-03", extra, fmt::format("a tool call has no member {}", extra.name));
  }
  return call;
}

std::int64_t inspect_execution_ms(Inspection& inspection, const Place* place, const Place& result,
                                  Sender sender) {
  const bool missing =
      place == nullptr || (sender == Sender::client && absent_in_request(place->value));
  if (!missing) return inspection.integer("TOOL-04", place, 0).value_or(0);
  const std::string name = spelled("ExecutionMs", inspection.dialect());
  inspection.repair_missing(
      "TOOL-04", result, "ExecutionMs", {},
      "how long the tool ran, in whole milliseconds; 0 when nobody measured it",
      {place == nullptr ? insertion_into(result, name, "0") : replacement_of(*place, "0")});
  return 0;
}

// A blank string counts as absent on either side; null only where a client wrote it.
const Place* outcome_given(Inspection& inspection, const Place* place, Sender sender,
                           bool& refused) {
  if (place == nullptr) return nullptr;
  if (place->value.is_string()) return is_blank(place->value.text()) ? nullptr : place;
  if (sender == Sender::client && absent_in_request(place->value)) return nullptr;
  refused = true;
  inspection.refuse(
      "TOOL-05", *place,
      fmt::format("{} is {}, not a string", place->name, a_kind_of(place->value.type())),
      place->value.is_null() ? "leave it out" : "encode the value: JSON as text, in a JSON string");
  return nullptr;
}

std::variant<ResultJson, ErrorMessage> inspect_outcome(Inspection& inspection,
                                                       const KnownMembers<kResultNames>& members,
                                                       Sender sender) {
  bool refused = false;
  const Place* result = outcome_given(inspection, members["ResultJson"], sender, refused);
  const Place* error = outcome_given(inspection, members["ErrorMessage"], sender, refused);
  const Place& place = members.object();
  if (result != nullptr && error != nullptr) {
    inspection.refuse("TOOL-05", place, "both ResultJson and ErrorMessage are there",
                      "a tool that failed has ErrorMessage alone");
  } else if (result == nullptr && error == nullptr && !refused) {
    inspection.refuse("TOOL-05", place, "neither ResultJson nor ErrorMessage is there",
                      "a failed tool is answered too: with ErrorMessage");
  }
  if (result != nullptr && !json::is_json(result->value.text())) {
    inspection.warn("TOOL-06", *result, "ResultJson is not JSON; it is passed on as it came");
  }
  if (error != nullptr) return ErrorMessage{std::string(error->value.text())};
  return ResultJson{result == nullptr ? std::string() : std::string(result->value.text())};
}

ToolResult inspect_tool_result(Inspection& inspection, const Place& place, Sender sender,
                               Ids& seen) {
  ToolResult result;
  if (!inspection.is_object("TOOL-03", &place)) return result;
  const KnownMembers<kResultNames> members(inspection, place);
  result.tool_call_id = members.required_text("TOOL-03", "ToolCallId");
  if (!result.tool_call_id.empty() && !seen.insert(members["ToolCallId"]->value.text()).second) {
    inspection.refuse(
        "TOOL-03", *members["ToolCallId"],
        fmt::format("the id \"{}\" is answered by an earlier result", result.tool_call_id));
  }
  result.execution_ms = inspect_execution_ms(inspection, members["ExecutionMs"], place, sender);
  result.outcome = inspect_outcome(inspection, members, sender);
  for (const Place& extra : members.unknown()) {
    inspection.warn(sender == Sender::client ? RuleId("REQ-15") : RuleId("RES-03"), extra,
                    fmt::format("a tool result has no member {}; it is ignored", extra.name));
  }
  return result;
}

}  // namespace

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestToolName && std::ranges::all_of(name, [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-';
  });
}

std::vector<ToolCall> inspect_tool_calls(Inspection& inspection, const Place& array) {
  Ids seen;
  return inspect_entries(inspection, array, [&](Inspection& in, const Place& place) {
    return inspect_tool_call(in, place, seen);
  });
}

std::vector<ToolResult> inspect_tool_results(Inspection& inspection, const Place& array,
                                             Sender sender) {
  Ids seen;
  return inspect_entries(inspection, array, [&](Inspection& in, const Place& place) {
    return inspect_tool_result(in, place, sender, seen);
  });
}

void write(json::Writer& writer, const ToolCall& call, Dialect dialect) {
  writer.begin_object();
  writer.member(spelled("ToolCallId", dialect), call.tool_call_id);
  writer.member(spelled("Name", dialect), call.name);
  writer.member(spelled("ArgumentsJson", dialect), call.arguments_json);
  writer.end_object();
}

void write(json::Writer& writer, const ToolResult& result, Dialect dialect) {
  writer.begin_object();
  writer.member(spelled("ToolCallId", dialect), result.tool_call_id);
  writer.member(spelled("ExecutionMs", dialect), result.execution_ms);
  if (const auto* error = std::get_if<ErrorMessage>(&result.outcome)) {
    writer.member(spelled("ErrorMessage", dialect), error->text);
  } else {
    writer.member(spelled("ResultJson", dialect), std::get<ResultJson>(result.outcome).text);
  }
  writer.end_object();
}

}  // namespace treaty::contracts
