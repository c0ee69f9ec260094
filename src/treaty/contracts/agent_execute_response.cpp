#include "treaty/contracts/agent_execute_response.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/text/guarded_text.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kFileNames[] = {
    "Name", "MimeType", "Url", "SizeBytes", "ContentHash", "Description", "ContentExpires"};

constexpr std::string_view kUsageNames[] = {"PromptTokens", "CompletionTokens", "TotalTokens",
                                            "CachedTokens", "ReasoningTokens"};

// Absolute http(s) with a host, or a path on this server. `//host` and `/\host` would leave it.
bool is_file_url(std::string_view url) {
  if (has_control_character(url) || url.contains(' ')) return false;
  if (url.starts_with('/')) return url.size() < 2 || (url[1] != '/' && url[1] != '\\');
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!starts_with_folded(url, scheme)) continue;
    const std::string_view rest = url.substr(scheme.size());
    return !rest.empty() && !std::string_view("/?#:").contains(rest[0]);
  }
  return false;
}

bool is_content_hash(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

// RES-40, RES-41.
FileRef inspect_file_ref(Inspection& inspection, const Place& place) {
  FileRef file;
  if (!inspection.is_object("RES-40", &place)) return file;
  const KnownMembers<kFileNames> members(inspection, place);
  file.name = members.required_text("RES-40", "Name");
  file.mime_type = members.required_text("RES-40", "MimeType");
  file.url = members.required_text("RES-40", "Url");
  if (!file.url.empty() && !is_file_url(file.url)) {
    inspection.refuse("RES-40", *members["Url"],
                      "Url is neither an absolute http(s) address nor a path beginning with /");
  }
  file.size_bytes =
      inspection.integer("RES-40", members.required("RES-40", "SizeBytes"), 0).value_or(0);
  file.content_hash = members.required_text("RES-40", "ContentHash");
  if (!file.content_hash.empty() && !is_content_hash(file.content_hash)) {
    inspection.refuse("RES-40", *members["ContentHash"],
                      "ContentHash has 64 hex digits in lower case",
                      "`treaty hash FILE` computes it");
  }
  file.description = inspection.optional_text("RES-41", members["Description"]);
  file.content_expires = inspection.optional_text("RES-41", members["ContentExpires"]);
  if (file.content_expires && timestamp_form(*file.content_expires) != TimestampForm::rfc3339) {
    inspection.refuse("RES-41", *members["ContentExpires"],
                      "ContentExpires is a date and time with its zone (RFC 3339)",
                      "such as 2030-01-31T12:00:00Z");
  }
  for (const Place& extra : members.unknown()) {
    inspection.refuse("RES-41", extra, fmt::format("a FileRef has no member {}", extra.name),
                      "a file is referred to by Url, never embedded");
  }
  return file;
}

// RES-50.
Usage inspect_usage(Inspection& inspection, const Place& place) {
  Usage usage;
  const KnownMembers<kUsageNames> members(inspection, place);
  const auto count = [&](const Place* field) { return inspection.integer("RES-50", field, 0); };
  usage.prompt_tokens = count(members.required("RES-50", "PromptTokens")).value_or(0);
  usage.completion_tokens = count(members.required("RES-50", "CompletionTokens")).value_or(0);
  usage.total_tokens = count(members.required("RES-50", "TotalTokens")).value_or(0);
  usage.cached_tokens = count(members["CachedTokens"]);
  usage.reasoning_tokens = count(members["ReasoningTokens"]);
  for (const Place& extra : members.unknown()) {
    inspection.warn("RES-50", extra, fmt::format("Usage has no member {}", extra.name));
  }
  return usage;
}

void write(json::Writer& writer, const FileRef& file, Dialect dialect) {
  const auto name = [&](std::string_view field) { return spelled(field, dialect); };
  writer.begin_object();
  writer.member(name("Name"), file.name);
  writer.member(name("MimeType"), file.mime_type);
  writer.member(name("Url"), file.url);
  writer.member(name("SizeBytes"), file.size_bytes);
  writer.member(name("ContentHash"), file.content_hash);
  if (file.description) writer.member(name("Description"), *file.description);
  if (file.content_expires) writer.member(name("ContentExpires"), *file.content_expires);
  writer.end_object();
}

void write(json::Writer& writer, const Usage& usage, Dialect dialect) {
  const auto name = [&](std::string_view field) { return spelled(field, dialect); };
  writer.begin_object();
  writer.member(name("PromptTokens"), usage.prompt_tokens);
  writer.member(name("CompletionTokens"), usage.completion_tokens);
  writer.member(name("TotalTokens"), usage.total_tokens);
  if (usage.cached_tokens) writer.member(name("CachedTokens"), *usage.cached_tokens);
  if (usage.reasoning_tokens) writer.member(name("ReasoningTokens"), *usage.reasoning_tokens);
  writer.end_object();
}

constexpr std::string_view kResponseNames[] = {
    "Kind",
    "SessionId",
    "TurnId",
    "ModeDisplayName",
    "PrimaryOutputText",
    "ToolContinuationMessage",
    "ToolCalls",
    "ToolResults",
    "Files",
    "UserWarnings",
    "Usage",
};
using ResponseMembers = KnownMembers<kResponseNames>;

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

void refuse_forbidden(Inspection& inspection, RuleId rule, const ResponseMembers& members,
                      std::string_view kind, std::initializer_list<ResponseMembers::Name> fields) {
  for (const ResponseMembers::Name field : fields) {
    if (members[field] == nullptr) continue;
    inspection.refuse(
        rule, *members[field],
        fmt::format("a {} response has no {}, not even an empty one", kind, members[field]->name),
        "leave the member out altogether");
  }
}

// RES-10, RES-30, RES-31.
std::string inspect_output(Inspection& inspection, const ResponseMembers& members) {
  std::string text = members.required_text("RES-10", "PrimaryOutputText");
  if (text.empty()) return text;
  if (has_unguarded_payload(text)) {
    inspection.refuse("RES-30", *members["PrimaryOutputText"],
                      "a machine-readable payload stands without a tagged fence",
                      "put it between ```json and ```");
  }
  if (has_embedded_file(text)) {
    inspection.refuse("RES-31", *members["PrimaryOutputText"],
                      "the contents of a file are embedded in the text",
                      "store the file and refer to it in Files");
  }
  return text;
}

template <class Inspect>
auto inspect_bucket(Inspection& inspection, const Place* bucket, Inspect inspect) {
  std::optional<decltype(inspect_entries(inspection, *bucket, inspect))> entries;
  if (inspection.is_array("RES-11", bucket)) {
    entries = inspect_entries(inspection, *bucket, inspect);
  }
  return entries;
}

FinalResponse inspect_final(Inspection& inspection, const ResponseMembers& members) {
  FinalResponse final;
  final.primary_output_text = inspect_output(inspection, members);
  final.files = inspect_bucket(inspection, members["Files"], inspect_file_ref);
  if (const Place* results = members["ToolResults"]; inspection.is_array("RES-11", results)) {
    final.tool_results = inspect_tool_results(inspection, *results, Sender::server);  // RES-51
  }
  final.user_warnings = inspect_bucket(
      inspection, members["UserWarnings"],
      [](Inspection& in, const Place& warning) { return in.text("RES-11", warning); });
  if (const Place* usage = members["Usage"]; inspection.is_object("RES-11", usage)) {
    final.usage = inspect_usage(inspection, *usage);
  }
  refuse_forbidden(inspection, "RES-12", members, "final",
                   {"ToolCalls", "ToolContinuationMessage"});
  return final;
}

ClientToolContinuation inspect_continuation(Inspection& inspection,
                                            const ResponseMembers& members) {
  ClientToolContinuation continuation;
  if (const Place* calls = members.required("RES-20", "ToolCalls");
      inspection.is_array("RES-20", calls)) {
    continuation.tool_calls = inspect_tool_calls(inspection, *calls);
    if (continuation.tool_calls.empty()) {
      inspection.refuse("RES-20", *calls, "a continuation asks for one tool call or more");
    }
  }
  continuation.tool_continuation_message =
      inspection.optional_text("RES-21", members["ToolContinuationMessage"]);
  refuse_forbidden(inspection, "RES-22", members, kContinuation,
                   {"PrimaryOutputText", "ToolResults", "Files", "UserWarnings", "Usage"});
  return continuation;
}

void inspect_kind(Inspection& inspection, const ResponseMembers& members,
                  AgentExecuteResponse& response) {
  const Place* place =
      members.required("RES-02", "Kind", "\"final\" or \"client_tool_continuation\"");
  if (place == nullptr) return;
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
  const ResponseMembers members(inspection, place);
  AgentExecuteResponse response{
      .session_id = members.required_text("RES-01", "SessionId"),
      .turn_id = members.required_text("RES-01", "TurnId"),
      .mode_display_name = members.required_text("RES-01", "ModeDisplayName"),
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
                                         json::NameCase::folded, kResponseNames);
}

namespace {

void write(json::Writer& writer, const FinalResponse& final, Dialect dialect) {
  const auto name = [&](std::string_view field) { return spelled(field, dialect); };
  const auto list = [&](std::string_view field, const auto& entries) {
    if (!entries) return;
    writer.name(name(field));
    writer.array(*entries, [&](const auto& entry) { write(writer, entry, dialect); });
  };
  writer.member(name("PrimaryOutputText"), final.primary_output_text);
  list("Files", final.files);
  list("ToolResults", final.tool_results);
  if (final.user_warnings) writer.member(name("UserWarnings"), *final.user_warnings);
  if (final.usage) {
    writer.name(name("Usage"));
    write(writer, *final.usage, dialect);
  }
}

void write(json::Writer& writer, const ClientToolContinuation& continuation, Dialect dialect) {
  if (continuation.tool_continuation_message) {
    writer.member(spelled("ToolContinuationMessage", dialect),
                  *continuation.tool_continuation_message);
  }
  writer.name(spelled("ToolCalls", dialect));
  writer.array(continuation.tool_calls,
               [&](const ToolCall& call) { contracts::write(writer, call, dialect); });
}

}  // namespace

void write(json::Writer& writer, const AgentExecuteResponse& response, Dialect dialect) {
  const bool final = std::holds_alternative<FinalResponse>(response.kind);
  writer.begin_object();
  writer.member(spelled("Kind", dialect), final ? kFinal : kContinuation);
  writer.member(spelled("SessionId", dialect), response.session_id);
  writer.member(spelled("TurnId", dialect), response.turn_id);
  writer.member(spelled("ModeDisplayName", dialect), response.mode_display_name);
  std::visit([&](const auto& kind) { write(writer, kind, dialect); }, response.kind);
  writer.end_object();
}

std::string encode(const AgentExecuteResponse& response, Dialect dialect) {
  json::Writer writer;
  write(writer, response, dialect);
  return writer.take();
}

}  // namespace treaty::contracts
