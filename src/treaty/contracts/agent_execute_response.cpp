#include "treaty/contracts/agent_execute_response.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/parts/response_parts.h"
#include "treaty/contracts/text/guarded_text.h"

namespace treaty::contracts {
namespace {

enum Field {
  kKind,
  kSessionId,
  kTurnId,
  kModeDisplayName,
  kPrimaryOutputText,
  kToolContinuationMessage,
  kToolCalls,
  kToolResults,
  kFiles,
  kUserWarnings,
  kUsage,
  kFieldCount
};
constexpr std::array<std::string_view, kFieldCount> kNames = {"Kind",
                                                              "SessionId",
                                                              "TurnId",
                                                              "ModeDisplayName",
                                                              "PrimaryOutputText",
                                                              "ToolContinuationMessage",
                                                              "ToolCalls",
                                                              "ToolResults",
                                                              "Files",
                                                              "UserWarnings",
                                                              "Usage"};
using Members = KnownMembers<kFieldCount>;

constexpr std::string_view kFinal = "final";
constexpr std::string_view kContinuation = "client_tool_continuation";

// What a foreign member most likely is, so that its writer knows where it belongs (RES-03).
std::string_view home_of(std::string_view name) {
  const std::string lower = folded(name);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](auto word) { return lower.contains(word); });
  };
  if (has({"responseid", "response_id", "continuation", "thread", "runid"})) {
    return "continuation state of a provider stays on the server";
  }
  if (has({"error", "success", "exception"}))
    return "errors are told by the InvokeResult around it";
  if (has({"trace", "correlation", "diagnos", "debug", "progress", "timing", "log"})) {
    return "diagnostics are served apart from the response";
  }
  if (has({"raw", "model", "provider", "choices", "vendor", "prompt"})) {
    return "payloads of a provider never reach a client";
  }
  if (has({"instruction", "artifact", "clipboard", "ragscope", "streaming"})) {
    return "this is a member of the request";
  }
  return "AGN-033 is closed; leave it out";
}

void refuse_forbidden(Inspection& inspection, RuleId rule, const Members& members,
                      std::string_view kind, std::initializer_list<Field> fields) {
  for (const Field field : fields) {
    if (members[field] == nullptr) continue;
    inspection.refuse(
        rule, *members[field],
        fmt::format("a {} response has no {}, not even an empty one", kind, members[field]->name),
        "leave the member out altogether");
  }
}

// RES-10, RES-30, RES-31.
std::string inspect_output(Inspection& inspection, const Members& members) {
  std::string text = required_text(inspection, "RES-10", members[kPrimaryOutputText],
                                   members.object(), kNames[kPrimaryOutputText]);
  if (text.empty()) return text;
  if (has_unguarded_payload(text)) {
    inspection.refuse("RES-30", *members[kPrimaryOutputText],
                      "a machine-readable payload stands without a tagged fence",
                      "put it between ```json and ```");
  }
  if (has_embedded_file(text)) {
    inspection.refuse("RES-31", *members[kPrimaryOutputText],
                      "the contents of a file are embedded in the text",
                      "store the file and refer to it in Files");
  }
  return text;
}

template <class Inspect>
auto inspect_bucket(Inspection& inspection, const Place* bucket, Inspect inspect) {
  std::optional<decltype(inspect_entries(inspection, *bucket, inspect))> entries;
  if (bucket != nullptr && is_array_field(inspection, "RES-11", *bucket)) {
    entries = inspect_entries(inspection, *bucket, inspect);
  }
  return entries;
}

std::string inspect_user_warning(Inspection& inspection, const Place& place) {
  return required_text(inspection, "RES-11", &place, place, {});
}

FinalResponse inspect_final(Inspection& inspection, const Members& members) {
  FinalResponse final;
  final.primary_output_text = inspect_output(inspection, members);
  final.files = inspect_bucket(inspection, members[kFiles], inspect_file_ref);
  if (const Place* results = members[kToolResults];
      results != nullptr && is_array_field(inspection, "RES-11", *results)) {
    final.tool_results = inspect_tool_results(inspection, *results, Sender::server);  // RES-51
  }
  final.user_warnings = inspect_bucket(inspection, members[kUserWarnings], inspect_user_warning);
  if (const Place* usage = members[kUsage];
      usage != nullptr && is_object_field(inspection, "RES-11", *usage)) {
    final.usage = inspect_usage(inspection, *usage);
  }
  refuse_forbidden(inspection, "RES-12", members, "final", {kToolCalls, kToolContinuationMessage});
  return final;
}

ClientToolContinuation inspect_continuation(Inspection& inspection, const Members& members) {
  ClientToolContinuation continuation;
  if (const Place* calls = members[kToolCalls]; calls == nullptr) {
    inspection.refuse_missing("RES-20", members.object(), kNames[kToolCalls]);
  } else if (is_array_field(inspection, "RES-20", *calls)) {
    continuation.tool_calls = inspect_tool_calls(inspection, *calls);
    if (continuation.tool_calls.empty()) {
      inspection.refuse("RES-20", *calls, "a continuation asks for one tool call or more");
    }
  }
  continuation.tool_continuation_message =
      optional_text(inspection, "RES-21", members[kToolContinuationMessage]);
  refuse_forbidden(inspection, "RES-22", members, kContinuation,
                   {kPrimaryOutputText, kToolResults, kFiles, kUserWarnings, kUsage});
  return continuation;
}

void inspect_kind(Inspection& inspection, const Members& members, AgentExecuteResponse& response) {
  const Place* place = members[kKind];
  if (place == nullptr) {
    inspection.refuse_missing("RES-02", members.object(), kNames[kKind], {},
                              "\"final\" or \"client_tool_continuation\"");
    return;
  }
  const std::string_view kind = place->value.is_string() ? place->value.text() : "";
  if (kind == kFinal) {
    inspection.set_kind(kFinal);
    response.kind = inspect_final(inspection, members);
  } else if (kind == kContinuation) {
    inspection.set_kind(kContinuation);
    response.kind = inspect_continuation(inspection, members);
  } else {
    inspection.refuse("RES-02", *place, "there is no such kind of response",
                      "\"final\" or \"client_tool_continuation\", exactly");
  }
}

}  // namespace

AgentExecuteResponse inspect_agent_execute_response(Inspection& inspection, const Place& place) {
  const Members members(place, kNames, inspection.name_case());
  const auto text = [&](Field field) {
    return required_text(inspection, "RES-01", members[field], place, kNames[field]);
  };
  AgentExecuteResponse response{.session_id = text(kSessionId),
                                .turn_id = text(kTurnId),
                                .mode_display_name = text(kModeDisplayName),
                                .kind = {}};
  inspect_kind(inspection, members, response);
  for (const Place& extra : members.unknown()) {
    inspection.refuse("RES-03", extra, fmt::format("the contract has no member {}", extra.name),
                      std::string(home_of(extra.name)));
  }
  return response;
}

Decoded<AgentExecuteResponse> decode_agent_execute_response(std::string_view bytes,
                                                            const DecodeOptions& options) {
  return decode_by<AgentExecuteResponse>(inspect_agent_execute_response, bytes, options,
                                         json::NameCase::folded, kNames);
}

namespace {

void write(json::Writer& writer, const FinalResponse& final, Dialect dialect) {
  const auto name = [&](Field field) { return spelled(kNames[field], dialect); };
  const auto list = [&](Field field, const auto& entries) {
    if (!entries) return;
    writer.name(name(field)).begin_array();
    for (const auto& entry : *entries) contracts::write(writer, entry, dialect);
    writer.end_array();
  };
  writer.member(name(kPrimaryOutputText), final.primary_output_text);
  list(kFiles, final.files);
  list(kToolResults, final.tool_results);
  if (final.user_warnings) {
    writer.name(name(kUserWarnings)).begin_array();
    for (const std::string& warning : *final.user_warnings) writer.value(warning);
    writer.end_array();
  }
  if (final.usage) {
    writer.name(name(kUsage));
    contracts::write(writer, *final.usage, dialect);
  }
}

void write(json::Writer& writer, const ClientToolContinuation& continuation, Dialect dialect) {
  if (continuation.tool_continuation_message) {
    writer.member(spelled(kNames[kToolContinuationMessage], dialect),
                  *continuation.tool_continuation_message);
  }
  writer.name(spelled(kNames[kToolCalls], dialect)).begin_array();
  for (const ToolCall& call : continuation.tool_calls) contracts::write(writer, call, dialect);
  writer.end_array();
}

}  // namespace

void write(json::Writer& writer, const AgentExecuteResponse& response, Dialect dialect) {
  const bool final = std::holds_alternative<FinalResponse>(response.kind);
  writer.begin_object();
  writer.member(spelled(kNames[kKind], dialect), final ? kFinal : kContinuation);
  writer.member(spelled(kNames[kSessionId], dialect), response.session_id);
  writer.member(spelled(kNames[kTurnId], dialect), response.turn_id);
  writer.member(spelled(kNames[kModeDisplayName], dialect), response.mode_display_name);
  std::visit([&](const auto& kind) { write(writer, kind, dialect); }, response.kind);
  writer.end_object();
}

std::string encode(const AgentExecuteResponse& response, Dialect dialect) {
  json::Writer writer;
  write(writer, response, dialect);
  return writer.take();
}

}  // namespace treaty::contracts
