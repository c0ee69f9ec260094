#include "treaty/contracts/agent_execute_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "treaty/base/base64.h"
#include "treaty/base/text.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kArtifactNames[] = {"RelativePath", "FileName", "Contents", "Origin",
                                               "Encoding",     "MimeType", "Language"};
using ArtifactMembers = KnownMembers<kArtifactNames>;

constexpr std::string_view kImageNames[] = {"Id", "MimeType", "DataBase64"};

constexpr std::string_view kConditionNames[] = {"Key", "Operator", "Values"};
constexpr std::string_view kScopeNames[] = {"Conditions"};

// In the order of RagCondition::Operator.
constexpr std::array<std::string_view, 4> kOperators = {"==", "!=", "contains", "does_not_contain"};

// REQ-15: what no rule knows is told, never refused.
void warn_of_unknown(Inspection& inspection, const std::vector<Place>& unknown) {
  for (const Place& extra : unknown) {
    if (absent_in_request(extra.value)) continue;
    inspection.warn("REQ-15", extra,
                    fmt::format("the contract has no member {}; it is ignored", extra.name));
  }
}

bool is_separator(char c) { return c == '/' || c == '\\'; }

// Why the path could lead out of the root (REQ-31); empty when it cannot.
std::string_view why_path_leaves(std::string_view path) {
  if (has_control_character(path)) return "it has a control character";
  if (is_separator(path[0])) return "it begins with a separator";
  if (path[0] == '~') return "it begins with ~";
  if (path.size() >= 2 && is_letter(path[0]) && path[1] == ':') return "it names a drive";
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find_first_of("/\\", begin), path.size());
    if (path.substr(begin, end - begin) == "..") return "it has a .. segment";
    begin = end + 1;
  }
  return {};
}

std::string_view last_segment(std::string_view path) {
  const std::size_t separator = path.find_last_of("/\\");
  return separator == std::string_view::npos ? path : path.substr(separator + 1);
}

void inspect_paths(Inspection& inspection, const InputArtifact& artifact, const Place* path,
                   const Place* name) {
  if (!artifact.relative_path.empty()) {
    const std::string_view why = why_path_leaves(artifact.relative_path);
    if (!why.empty()) {
      inspection.refuse("REQ-31", *path,
                        fmt::format("the path is not relative to the root: {}", why),
                        "write it relative to the opened folder, such as src/main.cpp");
    }
  }
  if (artifact.file_name.empty()) return;
  if (std::ranges::any_of(artifact.file_name, is_separator)) {
    inspection.refuse("REQ-32", *name, "a file name has no separator",
                      fmt::format("\"{}\"", last_segment(artifact.file_name)));
  } else if (!artifact.relative_path.empty() &&
             artifact.file_name != last_segment(artifact.relative_path)) {
    inspection.warn(
        "REQ-32", *name,
        fmt::format("the path ends in another name, \"{}\"", last_segment(artifact.relative_path)));
  }
}

void inspect_origin(Inspection& inspection, InputArtifact& artifact,
                    const ArtifactMembers& members) {
  const Place* place = members["Origin"];
  const std::string origin = members.required_text("REQ-30", "Origin");
  artifact.origin = origin == "user" ? Origin::user : Origin::ide;
  if (place == nullptr || !place->value.is_string() || origin == "user" || origin == "ide") return;
  inspection.refuse("REQ-33", *place, "Origin is \"ide\" or \"user\", in lower case");
}

void inspect_encoding(Inspection& inspection, InputArtifact& artifact, const Place* place) {
  if (!inspection.is_string("REQ-34", place)) return;
  const std::string_view encoding = place->value.text();
  if (encoding == "base64") {
    artifact.encoding = Encoding::base64;
  } else if (encoding != "utf8") {
    inspection.refuse("REQ-34", *place, "Encoding is \"utf8\" or \"base64\"");
  }
}

// REQ-30: there and a string; unlike the others it may be empty or blank.
void inspect_contents(Inspection& inspection, InputArtifact& artifact, const Place* place) {
  if (!inspection.is_string("REQ-30", place)) return;
  artifact.contents = std::string(place->value.text());
  if (artifact.encoding == Encoding::base64 && !base64_decoded_size(artifact.contents)) {
    inspection.refuse("REQ-35", *place, "Contents is not base64",
                      "RFC 4648 with padding, without line breaks or a data: prefix");
  }
}

RagCondition inspect_condition(Inspection& inspection, const Place& place) {
  RagCondition condition;
  if (!inspection.is_object("REQ-50", &place)) return condition;
  const KnownMembers<kConditionNames> members(inspection, place);
  condition.key = members.required_text("REQ-50", "Key");

  if (const Place* comparison = members.given("Operator"); comparison == nullptr) {
    inspection.refuse_missing("REQ-50", place, "Operator");
  } else if (inspection.is_string("REQ-51", comparison)) {
    const auto found = std::ranges::find(kOperators, comparison->value.text());
    if (found == kOperators.end()) {
      inspection.refuse("REQ-51", *comparison, "there is no such operator",
                        "one of ==, !=, contains, does_not_contain");
    } else {
      condition.comparison = static_cast<RagCondition::Operator>(found - kOperators.begin());
    }
  }

  const Place* values = members["Values"];
  if (values == nullptr || values->value.is_null()) {
    inspection.refuse_missing("REQ-50", place, "Values");
    inspection.refuse_missing("REQ-52", place, "Values");
  } else if (inspection.is_array("REQ-52", values)) {
    if (values->value.elements().empty()) {
      inspection.refuse("REQ-52", *values, "a condition compares with one value or more");
    }
    condition.values = inspect_entries(inspection, *values, [](Inspection& in, const Place& entry) {
      return in.is_string("REQ-52", &entry) ? std::string(entry.value.text()) : "";
    });
  }
  warn_of_unknown(inspection, members.unknown());
  return condition;
}

// REQ-30 to REQ-36.
InputArtifact inspect_input_artifact(Inspection& inspection, const Place& place) {
  InputArtifact artifact;
  if (!inspection.is_object("REQ-30", &place)) return artifact;
  const ArtifactMembers members(inspection, place);
  artifact.relative_path = members.required_text("REQ-30", "RelativePath");
  artifact.file_name = members.required_text("REQ-30", "FileName");
  inspect_paths(inspection, artifact, members["RelativePath"], members["FileName"]);
  inspect_origin(inspection, artifact, members);
  inspect_encoding(inspection, artifact, members.given("Encoding"));
  inspect_contents(inspection, artifact,
                   members.required("REQ-30", "Contents", "an empty file has Contents \"\""));
  artifact.mime_type = inspection.optional_text("REQ-36", members.given("MimeType"));
  if (artifact.mime_type && !is_media_type(*artifact.mime_type)) {
    inspection.refuse("REQ-36", *members["MimeType"], "MimeType does not look like type/subtype");
  }
  artifact.language = inspection.optional_text("REQ-03", members.given("Language"));
  warn_of_unknown(inspection, members.unknown());
  return artifact;
}

// REQ-40 to REQ-42. `seen` are the ids of the images before.
ClipboardImage inspect_clipboard_image(Inspection& inspection, const Place& place,
                                       std::unordered_set<std::string_view>& seen) {
  ClipboardImage image;
  if (!inspection.is_object("REQ-40", &place)) return image;
  const KnownMembers<kImageNames> members(inspection, place);
  image.id = members.required_text("REQ-40", "Id");
  if (!image.id.empty() && !seen.insert(members["Id"]->value.text()).second) {
    inspection.refuse("REQ-40", *members["Id"],
                      fmt::format("the id \"{}\" belongs to an earlier image", image.id));
  }
  image.mime_type = members.required_text("REQ-40", "MimeType");
  if (!image.mime_type.empty() && !image.mime_type.starts_with("image/")) {
    inspection.refuse("REQ-41", *members["MimeType"],
                      "the MimeType of an image begins with image/");
  }
  image.data_base64 = members.required_text("REQ-40", "DataBase64");
  if (!image.data_base64.empty() && base64_decoded_size(image.data_base64).value_or(0) == 0) {
    inspection.refuse("REQ-42", *members["DataBase64"],
                      "DataBase64 does not decode to one byte or more",
                      "RFC 4648 with padding, without line breaks or a data: prefix");
  }
  warn_of_unknown(inspection, members.unknown());
  return image;
}

// REQ-50 to REQ-52.
RagScope inspect_rag_scope(Inspection& inspection, const Place& place) {
  RagScope scope;
  if (!inspection.is_object("REQ-50", &place)) return scope;
  const KnownMembers<kScopeNames> members(inspection, place);
  warn_of_unknown(inspection, members.unknown());
  const Place* conditions = members.given("Conditions");
  if (!inspection.is_array("REQ-50", conditions)) return scope;
  scope.conditions = inspect_entries(inspection, *conditions, inspect_condition);
  return scope;
}

void write(json::Writer& writer, const InputArtifact& artifact, Dialect dialect) {
  const auto name = [&](std::string_view field) { return spelled(field, dialect); };
  writer.begin_object();
  writer.member(name("RelativePath"), artifact.relative_path);
  writer.member(name("FileName"), artifact.file_name);
  writer.member(name("Contents"), artifact.contents);
  writer.member(name("Origin"), artifact.origin == Origin::user ? "user" : "ide");
  if (artifact.encoding == Encoding::base64) writer.member(name("Encoding"), "base64");
  if (artifact.mime_type) writer.member(name("MimeType"), *artifact.mime_type);
  if (artifact.language) writer.member(name("Language"), *artifact.language);
  writer.end_object();
}

void write(json::Writer& writer, const ClipboardImage& image, Dialect dialect) {
  writer.begin_object();
  writer.member(spelled("Id", dialect), image.id);
  writer.member(spelled("MimeType", dialect), image.mime_type);
  writer.member(spelled("DataBase64", dialect), image.data_base64);
  writer.end_object();
}

void write(json::Writer& writer, const RagScope& scope, Dialect dialect) {
  writer.begin_object().name(spelled("Conditions", dialect));
  writer.objects(scope.conditions, [&](const RagCondition& condition) {
    writer.member(spelled("Key", dialect), condition.key);
    writer.member(spelled("Operator", dialect),
                  kOperators[static_cast<std::size_t>(condition.comparison)]);
    writer.member(spelled("Values", dialect), condition.values);
  });
  writer.end_object();
}

constexpr std::string_view kRequestNames[] = {
    "SessionId",
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
    "ToolResults",
};
using RequestMembers = KnownMembers<kRequestNames>;

constexpr std::size_t kLongestId = 128;

// §3: server-owned. Case and underscores make no difference: clients that send such a member spell
// it as the API of a provider does, `max_tokens`.
constexpr std::string_view kModeNames[] = {"Mode", "ModeId", "ModeKey", "ModeName",
                                           "ModeDisplayName"};
constexpr std::string_view kStateNames[] = {"PreviousResponseId", "ResponseId", "ContinuationId",
                                            "ContinuationToken",  "ThreadId",   "RunId",
                                            "ProviderState"};
constexpr std::string_view kSettingNames[] = {
    "Provider", "Model", "ModelName", "Temperature", "TopP", "MaxTokens", "Seed", "StopSequences"};
constexpr std::string_view kDiagnosticNames[] = {"CorrelationId", "TraceId", "RequestId",
                                                 "Diagnostics",   "Debug",   "Progress"};

// `name` without underscores; one that cannot be in a list stays as it is.
std::string without_underscores(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  std::string out(name);
  if (name.size() <= kLongest) std::erase(out, '_');
  return out;
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::any_of(names, [&](auto other) { return equal_folded(name, other); });
}

// REQ-01, REQ-02.
std::string inspect_id(Inspection& inspection, RuleId rule, const RequestMembers& members,
                       RequestMembers::Name field) {
  std::string id = members.required_text(rule, field);
  if (id.empty()) return id;
  if (id.size() > kLongestId) {
    inspection.refuse(rule, *members[field],
                      fmt::format("{} has {} bytes; at most {} are allowed",
                                  kRequestNames[field.place], id.size(), kLongestId));
  }
  if (has_control_character(id)) {
    inspection.refuse(rule, *members[field],
                      fmt::format("{} has a control character", kRequestNames[field.place]));
  }
  return id;
}

// REQ-12 to REQ-15.
void inspect_unknown(Inspection& inspection, const RequestMembers& members) {
  for (const Place& extra : members.unknown()) {
    if (absent_in_request(extra.value)) continue;
    const std::string name = without_underscores(extra.name);
    if (is_one_of(kModeNames, name)) {
      inspection.refuse("REQ-12", extra, "a request names no mode: the server decides it",
                        "leave it out");
    } else if (is_one_of(kStateNames, name)) {
      inspection.refuse(
          "REQ-13", extra,
          fmt::format("{} is state of a provider, and the server keeps it", extra.name),
          "leave it out; SessionId and TurnId are all that a follow-on needs");
    } else if (is_one_of(kSettingNames, name)) {
      inspection.refuse(
          "REQ-13", extra,
          fmt::format(
              "{} is a setting of a model, and a request has none: the configuration of the "
              "agent decides how its models are called",
              extra.name),
          "leave it out");
    } else if (is_one_of(kDiagnosticNames, name)) {
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
  const bool there = inspection.is_array("REQ-03", list);
  return there ? inspect_entries(inspection, *list, inspect)
               : decltype(inspect_entries(inspection, *list, inspect))();
}

bool inspect_streaming(Inspection& inspection, const Place* place) {
  return inspection.is_boolean("REQ-03", place) && place->value.boolean();
}

// §2.1.
UserTurn inspect_user_turn(Inspection& inspection, const RequestMembers& members) {
  inspection.set_kind("user_turn");
  const auto text = [&](RequestMembers::Name field) {
    return inspection.optional_text("REQ-03", members.given(field));
  };
  UserTurn turn;
  turn.instruction = text("Instruction");
  turn.input_artifacts =
      inspect_list(inspection, members.given("InputArtifacts"), inspect_input_artifact);
  std::unordered_set<std::string_view> ids;
  turn.clipboard_images = inspect_list(
      inspection, members.given("ClipboardImages"),
      [&](Inspection& in, const Place& place) { return inspect_clipboard_image(in, place, ids); });
  if (const Place* scope = members.given("RagScope")) {
    turn.rag_scope = inspect_rag_scope(inspection, *scope);
  }
  turn.solution_context_text = text("SolutionContextText");
  turn.workspace_id = text("WorkspaceId");
  turn.repo = text("Repo");
  turn.language = text("Language");
  turn.streaming = inspect_streaming(inspection, members.given("Streaming"));
  turn.agent_context_id = text("AgentContextId");
  turn.conversation_context_id = text("ConversationContextId");
  const bool input = members.given("Instruction") != nullptr ||
                     members.given("InputArtifacts") != nullptr ||
                     members.given("ClipboardImages") != nullptr;
  if (!input) {
    inspection.refuse("REQ-10", members.object(), "a user turn asks for nothing",
                      "give at least one of Instruction, InputArtifacts, ClipboardImages");
  }
  // Only a ToolResults of another type comes here: a list would have made it a continuation.
  inspection.is_array("REQ-03", members.given("ToolResults"));
  return turn;
}

// §2.2, Forbidden.
void refuse_inputs(Inspection& inspection, const RequestMembers& members) {
  constexpr std::string_view kMechanical = "a tool continuation is mechanical: results alone";
  const auto forbid = [&](RuleId rule, RequestMembers::Name field) {
    const Place* place = members.given(field);
    if (place == nullptr) return false;
    inspection.refuse(rule, *place, fmt::format("{} has no {}", kMechanical, place->name),
                      "send it with the next user turn");
    return true;
  };
  const bool instruction = forbid("REQ-21", "Instruction");
  const bool artifacts = forbid("REQ-22", "InputArtifacts");
  const bool images = forbid("REQ-23", "ClipboardImages");
  if (instruction || artifacts || images) {
    inspection.refuse("REQ-11", *members["ToolResults"],
                      "a user turn carries no ToolResults, and a tool continuation no input",
                      "send the results first, and the input as the next turn");
  }
  forbid("REQ-24", "RagScope");
  forbid("REQ-24", "SolutionContextText");
  forbid("REQ-24", "WorkspaceId");
  forbid("REQ-24", "Repo");
  forbid("REQ-24", "Language");
  if (inspect_streaming(inspection, members.given("Streaming"))) {
    inspection.refuse("REQ-25", *members["Streaming"],
                      "a tool continuation does not ask for a stream", "leave Streaming out");
  }
  for (const Place* place :
       {members.given("AgentContextId"), members.given("ConversationContextId")}) {
    if (place == nullptr) continue;
    inspection.repair("REQ-26", *place, fmt::format("{} has no {}", kMechanical, place->name),
                      "leave it out", {removal_of(*place)});
  }
}

ToolContinuation inspect_tool_continuation(Inspection& inspection, const RequestMembers& members) {
  inspection.set_kind("tool_continuation");
  refuse_inputs(inspection, members);
  return {inspect_tool_results(inspection, *members["ToolResults"], Sender::client)};
}

// Only a user turn may come without ids, and only without both.
bool may_lack_ids(const Inspection& inspection, const RequestMembers& members) {
  return inspection.options().ids_optional && members.given("SessionId") == nullptr &&
         members.given("TurnId") == nullptr && members.given("ToolResults") == nullptr;
}

AgentExecuteRequest inspect_request(Inspection& inspection, const Place& root) {
  const RequestMembers members(inspection, root);
  AgentExecuteRequest request{
      .session_id = {}, .turn_id = {}, .scenario = {}, .dialect = inspection.dialect()};
  if (!may_lack_ids(inspection, members)) {
    request.session_id = inspect_id(inspection, "REQ-01", members, "SessionId");
    request.turn_id = inspect_id(inspection, "REQ-02", members, "TurnId");
  }
  inspect_unknown(inspection, members);
  // REQ-04: presence tells the scenario.
  const Place* results = members.given("ToolResults");
  if (results != nullptr && results->value.is_array()) {
    request.scenario = inspect_tool_continuation(inspection, members);
  } else {
    request.scenario = inspect_user_turn(inspection, members);
  }
  return request;
}

void write(json::Writer& writer, const UserTurn& turn, Dialect dialect) {
  const auto text = [&](std::string_view name, const std::optional<std::string>& value) {
    if (value) writer.member(spelled(name, dialect), *value);
  };
  const auto list = [&](std::string_view name, const auto& entries) {
    if (entries.empty()) return;
    writer.name(spelled(name, dialect));
    writer.array(entries, [&](const auto& entry) { write(writer, entry, dialect); });
  };
  text("Instruction", turn.instruction);
  list("InputArtifacts", turn.input_artifacts);
  list("ClipboardImages", turn.clipboard_images);
  if (turn.rag_scope) {
    writer.name(spelled("RagScope", dialect));
    write(writer, *turn.rag_scope, dialect);
  }
  text("SolutionContextText", turn.solution_context_text);
  text("WorkspaceId", turn.workspace_id);
  text("Repo", turn.repo);
  text("Language", turn.language);
  if (turn.streaming) writer.member(spelled("Streaming", dialect), true);
  text("AgentContextId", turn.agent_context_id);
  text("ConversationContextId", turn.conversation_context_id);
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
  writer.member(spelled("SessionId", dialect), request.session_id);
  writer.member(spelled("TurnId", dialect), request.turn_id);
  if (const auto* turn = std::get_if<UserTurn>(&request.scenario)) {
    write(writer, *turn, dialect);
  } else {
    writer.name(spelled("ToolResults", dialect));
    writer.array(std::get<ToolContinuation>(request.scenario).tool_results,
                 [&](const auto& result) { contracts::write(writer, result, dialect); });
  }
  return writer.end_object().take();
}

}  // namespace treaty::contracts
