#include "treaty/contracts/agent_execute_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "treaty/base/text.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/request_parts.h"

namespace treaty::contracts {
namespace {

enum RequestField {
  kRequestSessionId,
  kRequestTurnId,
  kInstruction,
  kInputArtifacts,
  kClipboardImages,
  kRagScope,
  kSolutionContextText,
  kWorkspaceId,
  kRepo,
  kRequestLanguage,
  kStreaming,
  kAgentContextId,
  kConversationContextId,
  kRequestToolResults,
  kRequestFieldCount
};
constexpr std::array<std::string_view, kRequestFieldCount> kRequestNames = {"SessionId",
                                                                            "TurnId",
                                                                            "Instruction",
                                                                            "InputArtifacts",
                                                                            "ClipboardImages",
                                                                            "RagScope",
                                                                            "SolutionContextText",
                                                                            "WorkspaceId",
                                                                            "Repo",
                                                                            "Language",
                                                                            "Streaming",
                                                                            "AgentContextId",
                                                                            "ConversationContextId",
                                                                            "ToolResults"};
using RequestMembers = KnownMembers<kRequestFieldCount>;

constexpr std::size_t kLongestId = 128;

// §3: server-owned. A name is matched without regard to case, like all names here.
constexpr std::array<std::string_view, 5> kModeNames = {"Mode", "ModeId", "ModeKey", "ModeName",
                                                        "ModeDisplayName"};
constexpr std::array<std::string_view, 10> kContinuationNames = {"PreviousResponseId",
                                                                 "previous_response_id",
                                                                 "ResponseId",
                                                                 "ContinuationId",
                                                                 "ContinuationToken",
                                                                 "Provider",
                                                                 "Model",
                                                                 "ModelName",
                                                                 "ThreadId",
                                                                 "RunId"};
constexpr std::array<std::string_view, 6> kDiagnosticNames = {
    "CorrelationId", "TraceId", "RequestId", "Diagnostics", "Debug", "Progress"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](auto other) { return equal_folded(name, other); });
}

// REQ-01, REQ-02.
std::string inspect_id(Inspection& inspection, RuleId rule, const RequestMembers& members,
                       RequestField field) {
  std::string id =
      required_text(inspection, rule, members[field], members.object(), kRequestNames[field]);
  if (id.empty()) return id;
  if (id.size() > kLongestId) {
    inspection.refuse(rule, *members[field],
                      fmt::format("{} has {} bytes; at most {} are allowed", kRequestNames[field],
                                  id.size(), kLongestId));
  }
  if (has_control_character(id)) {
    inspection.refuse(rule, *members[field],
                      fmt::format("{} has a control character", kRequestNames[field]));
  }
  return id;
}

// REQ-12 to REQ-15.
void inspect_unknown(Inspection& inspection, const RequestMembers& members) {
  for (const Place& extra : members.unknown()) {
    if (absent_in_request(extra.value)) continue;
    if (is_one_of(kModeNames, extra.name)) {
      inspection.refuse("REQ-12", extra, "a request names no mode: the server decides it",
                        "leave it out");
    } else if (is_one_of(kContinuationNames, extra.name)) {
      inspection.refuse("REQ-13", extra,
                        "a request carries no state of a provider or a model: the server keeps it",
                        "leave it out; SessionId and TurnId are all that a follow-on needs");
    } else if (is_one_of(kDiagnosticNames, extra.name)) {
      inspection.refuse("REQ-14", extra, "diagnostics belong to the server", "leave it out");
    } else {
      inspection.warn("REQ-15", extra,
                      fmt::format("the contract has no member {}; it is ignored", extra.name));
    }
  }
}

// A list of a request that may be left out.
template <class Inspect>
auto inspect_list(Inspection& inspection, const Place* list, Inspect inspect) {
  const bool there = list != nullptr && is_array_field(inspection, "REQ-03", *list);
  return there ? inspect_entries(inspection, *list, inspect)
               : decltype(inspect_entries(inspection, *list, inspect))();
}

bool inspect_streaming(Inspection& inspection, const Place* place) {
  return place != nullptr && is_boolean_field(inspection, "REQ-03", *place) &&
         place->value.boolean();
}

// §2.1.
UserTurn inspect_user_turn(Inspection& inspection, const RequestMembers& members) {
  inspection.set_kind("user_turn");
  const auto text = [&](RequestField field) {
    return optional_text(inspection, "REQ-03", members.given(field));
  };
  UserTurn turn;
  turn.instruction = text(kInstruction);
  turn.input_artifacts =
      inspect_list(inspection, members.given(kInputArtifacts), inspect_input_artifact);
  std::unordered_set<std::string_view> ids;
  turn.clipboard_images = inspect_list(
      inspection, members.given(kClipboardImages),
      [&](Inspection& in, const Place& place) { return inspect_clipboard_image(in, place, ids); });
  if (const Place* scope = members.given(kRagScope)) {
    turn.rag_scope = inspect_rag_scope(inspection, *scope);
  }
  turn.solution_context_text = text(kSolutionContextText);
  turn.workspace_id = text(kWorkspaceId);
  turn.repo = text(kRepo);
  turn.language = text(kRequestLanguage);
  turn.streaming = inspect_streaming(inspection, members.given(kStreaming));
  turn.agent_context_id = text(kAgentContextId);
  turn.conversation_context_id = text(kConversationContextId);
  const bool input = members.given(kInstruction) != nullptr ||
                     members.given(kInputArtifacts) != nullptr ||
                     members.given(kClipboardImages) != nullptr;
  if (!input) {
    inspection.refuse("REQ-10", members.object(), "a user turn asks for nothing",
                      "give at least one of Instruction, InputArtifacts, ClipboardImages");
  }
  // Only a ToolResults of another type comes here: a list would have made it a continuation.
  if (const Place* results = members.given(kRequestToolResults)) {
    is_array_field(inspection, "REQ-03", *results);
  }
  return turn;
}

// §2.2, Forbidden.
void refuse_inputs(Inspection& inspection, const RequestMembers& members) {
  constexpr std::string_view kMechanical = "a tool continuation is mechanical: results alone";
  const auto forbid = [&](RuleId rule, RequestField field) {
    const Place* place = members.given(field);
    if (place == nullptr) return false;
    inspection.refuse(rule, *place, fmt::format("{} has no {}", kMechanical, place->name),
                      "send it with the next user turn");
    return true;
  };
  const bool instruction = forbid("REQ-21", kInstruction);
  const bool artifacts = forbid("REQ-22", kInputArtifacts);
  const bool images = forbid("REQ-23", kClipboardImages);
  if (instruction || artifacts || images) {
    inspection.refuse("REQ-11", *members[kRequestToolResults],
                      "a user turn carries no ToolResults, and a tool continuation no input",
                      "send the results first, and the input as the next turn");
  }
  for (const RequestField field :
       {kRagScope, kSolutionContextText, kWorkspaceId, kRepo, kRequestLanguage}) {
    forbid("REQ-24", field);
  }
  if (inspect_streaming(inspection, members.given(kStreaming))) {
    inspection.refuse("REQ-25", *members[kStreaming],
                      "a tool continuation does not ask for a stream", "leave Streaming out");
  }
  for (const RequestField field : {kAgentContextId, kConversationContextId}) {
    const Place* place = members.given(field);
    if (place == nullptr) continue;
    inspection.repair("REQ-26", *place, fmt::format("{} has no {}", kMechanical, place->name),
                      "leave it out", {removal_of(*place)});
  }
}

ToolContinuation inspect_tool_continuation(Inspection& inspection, const RequestMembers& members) {
  inspection.set_kind("tool_continuation");
  refuse_inputs(inspection, members);
  return {inspect_tool_results(inspection, *members[kRequestToolResults], Sender::client)};
}

// D1: only a user turn may come without ids, and only without both.
bool may_lack_ids(const Inspection& inspection, const RequestMembers& members) {
  return inspection.options().ids_optional && members.given(kRequestSessionId) == nullptr &&
         members.given(kRequestTurnId) == nullptr && members.given(kRequestToolResults) == nullptr;
}

AgentExecuteRequest inspect_request(Inspection& inspection, const Place& root) {
  const RequestMembers members(root, kRequestNames, inspection.name_case());
  AgentExecuteRequest request{
      .session_id = {}, .turn_id = {}, .scenario = {}, .dialect = inspection.dialect()};
  if (!may_lack_ids(inspection, members)) {
    request.session_id = inspect_id(inspection, "REQ-01", members, kRequestSessionId);
    request.turn_id = inspect_id(inspection, "REQ-02", members, kRequestTurnId);
  }
  inspect_unknown(inspection, members);
  // REQ-04: presence tells the scenario.
  const Place* results = members.given(kRequestToolResults);
  if (results != nullptr && results->value.is_array()) {
    request.scenario = inspect_tool_continuation(inspection, members);
  } else {
    request.scenario = inspect_user_turn(inspection, members);
  }
  return request;
}

void write(json::Writer& writer, const UserTurn& turn, Dialect dialect) {
  const auto text = [&](RequestField field, const std::optional<std::string>& value) {
    if (value) writer.member(spelled(kRequestNames[field], dialect), *value);
  };
  const auto list = [&](RequestField field, const auto& entries) {
    if (entries.empty()) return;
    writer.name(spelled(kRequestNames[field], dialect)).begin_array();
    for (const auto& entry : entries) write(writer, entry, dialect);
    writer.end_array();
  };
  text(kInstruction, turn.instruction);
  list(kInputArtifacts, turn.input_artifacts);
  list(kClipboardImages, turn.clipboard_images);
  if (turn.rag_scope) {
    writer.name(spelled(kRequestNames[kRagScope], dialect));
    write(writer, *turn.rag_scope, dialect);
  }
  text(kSolutionContextText, turn.solution_context_text);
  text(kWorkspaceId, turn.workspace_id);
  text(kRepo, turn.repo);
  text(kRequestLanguage, turn.language);
  if (turn.streaming) writer.member(spelled(kRequestNames[kStreaming], dialect), true);
  text(kAgentContextId, turn.agent_context_id);
  text(kConversationContextId, turn.conversation_context_id);
}

}  // namespace

Decoded<AgentExecuteRequest> decode_agent_execute_request(std::string_view bytes,
                                                          const DecodeOptions& options) {
  return decode_by<AgentExecuteRequest>(inspect_request, bytes, options, json::NameCase::folded,
                                        kRequestNames);
}

std::string encode(const AgentExecuteRequest& request) {
  const Dialect dialect = request.dialect;
  json::Writer writer;
  writer.begin_object();
  writer.member(spelled(kRequestNames[kRequestSessionId], dialect), request.session_id);
  writer.member(spelled(kRequestNames[kRequestTurnId], dialect), request.turn_id);
  if (const auto* turn = std::get_if<UserTurn>(&request.scenario)) {
    write(writer, *turn, dialect);
  } else {
    writer.name(spelled(kRequestNames[kRequestToolResults], dialect)).begin_array();
    for (const ToolResult& result : std::get<ToolContinuation>(request.scenario).tool_results) {
      contracts::write(writer, result, dialect);
    }
    writer.end_array();
  }
  return writer.end_object().take();
}

}  // namespace treaty::contracts
