#include "treaty/contracts/agent_execute_response.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/text/guarded_text.h"

namespace treaty::contracts {
namespace {

enum FileField {
  kResponseName,
  kResponseMimeType,
  kUrl,
  kSizeBytes,
  kContentHash,
  kDescription,
  kContentExpires,
  kFileFieldCount
};
constexpr std::array<std::string_view, kFileFieldCount> kFileNames = {
    "Name", "MimeType", "Url", "SizeBytes", "ContentHash", "Description", "ContentExpires"};

enum UsageField {
  kPromptTokens,
  kCompletionTokens,
  kTotalTokens,
  kCachedTokens,
  kReasoningTokens,
  kUsageFieldCount
};
constexpr std::array<std::string_view, kUsageFieldCount> kResponseUsageNames = {
    "PromptTokens", "CompletionTokens", "TotalTokens", "CachedTokens", "ReasoningTokens"};

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

std::int64_t required_count(Inspection& inspection, RuleId rule, const Place* place,
                            const Place& object, std::string_view name) {
  if (place != nullptr) return integer_field(inspection, rule, *place, 0).value_or(0);
  inspection.refuse_missing(rule, object, name);
  return 0;
}

// RES-40, RES-41.
FileRef inspect_file_ref(Inspection& inspection, const Place& place) {
  FileRef file;
  if (!is_object_field(inspection, "RES-40", place)) return file;
  const KnownMembers members(place, kFileNames, inspection.name_case());
  const auto text = [&](FileField field) {
    return required_text(inspection, "RES-40", members[field], place, kFileNames[field]);
  };
  file.name = text(kResponseName);
  file.mime_type = text(kResponseMimeType);
  file.url = text(kUrl);
  if (!file.url.empty() && !is_file_url(file.url)) {
    inspection.refuse("RES-40", *members[kUrl],
                      "Url is neither an absolute http(s) address nor a path beginning with /");
  }
  file.size_bytes =
      required_count(inspection, "RES-40", members[kSizeBytes], place, kFileNames[kSizeBytes]);
  file.content_hash = text(kContentHash);
  if (!file.content_hash.empty() && !is_content_hash(file.content_hash)) {
    inspection.refuse("RES-40", *members[kContentHash],
                      "ContentHash has 64 hex digits in lower case",
                      "`treaty hash FILE` computes it");
  }
  file.description = optional_text(inspection, "RES-41", members[kDescription]);
  file.content_expires = optional_text(inspection, "RES-41", members[kContentExpires]);
  if (file.content_expires && timestamp_form(*file.content_expires) != TimestampForm::rfc3339) {
    inspection.refuse("RES-41", *members[kContentExpires],
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
  const KnownMembers members(place, kResponseUsageNames, inspection.name_case());
  const auto required = [&](UsageField field) {
    return required_count(inspection, "RES-50", members[field], place, kResponseUsageNames[field]);
  };
  const auto optional = [&](UsageField field) -> std::optional<std::int64_t> {
    if (members[field] == nullptr) return std::nullopt;
    return integer_field(inspection, "RES-50", *members[field], 0);
  };
  usage.prompt_tokens = required(kPromptTokens);
  usage.completion_tokens = required(kCompletionTokens);
  usage.total_tokens = required(kTotalTokens);
  usage.cached_tokens = optional(kCachedTokens);
  usage.reasoning_tokens = optional(kReasoningTokens);
  for (const Place& extra : members.unknown()) {
    inspection.warn("RES-50", extra, fmt::format("Usage has no member {}", extra.name));
  }
  return usage;
}

void write(json::Writer& writer, const FileRef& file, Dialect dialect) {
  const auto name = [&](FileField field) { return spelled(kFileNames[field], dialect); };
  writer.begin_object();
  writer.member(name(kResponseName), file.name);
  writer.member(name(kResponseMimeType), file.mime_type);
  writer.member(name(kUrl), file.url);
  writer.member(name(kSizeBytes), file.size_bytes);
  writer.member(name(kContentHash), file.content_hash);
  if (file.description) writer.member(name(kDescription), *file.description);
  if (file.content_expires) writer.member(name(kContentExpires), *file.content_expires);
  writer.end_object();
}

void write(json::Writer& writer, const Usage& usage, Dialect dialect) {
  const auto name = [&](UsageField field) { return spelled(kResponseUsageNames[field], dialect); };
  writer.begin_object();
  writer.member(name(kPromptTokens), usage.prompt_tokens);
  writer.member(name(kCompletionTokens), usage.completion_tokens);
  writer.member(name(kTotalTokens), usage.total_tokens);
  if (usage.cached_tokens) writer.member(name(kCachedTokens), *usage.cached_tokens);
  if (usage.reasoning_tokens) writer.member(name(kReasoningTokens), *usage.reasoning_tokens);
  writer.end_object();
}

enum ResponseField {
  kKind,
  kResponseSessionId,
  kResponseTurnId,
  kModeDisplayName,
  kPrimaryOutputText,
  kToolContinuationMessage,
  kResponseToolCalls,
  kResponseToolResults,
  kFiles,
  kUserWarnings,
  kResponseUsage,
  kResponseFieldCount
};
constexpr std::array<std::string_view, kResponseFieldCount> kResponseNames = {
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
    "Usage"};
using ResponseMembers = KnownMembers<kResponseFieldCount>;

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
                      std::string_view kind, std::initializer_list<ResponseField> fields) {
  for (const ResponseField field : fields) {
    if (members[field] == nullptr) continue;
    inspection.refuse(
        rule, *members[field],
        fmt::format("a {} response has no {}, not even an empty one", kind, members[field]->name),
        "leave the member out altogether");
  }
}

// RES-10, RES-30, RES-31.
std::string inspect_output(Inspection& inspection, const ResponseMembers& members) {
  std::string text = required_text(inspection, "RES-10", members[kPrimaryOutputText],
                                   members.object(), kResponseNames[kPrimaryOutputText]);
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

FinalResponse inspect_final(Inspection& inspection, const ResponseMembers& members) {
  FinalResponse final;
  final.primary_output_text = inspect_output(inspection, members);
  final.files = inspect_bucket(inspection, members[kFiles], inspect_file_ref);
  if (const Place* results = members[kResponseToolResults];
      results != nullptr && is_array_field(inspection, "RES-11", *results)) {
    final.tool_results = inspect_tool_results(inspection, *results, Sender::server);  // RES-51
  }
  final.user_warnings = inspect_bucket(inspection, members[kUserWarnings], inspect_user_warning);
  if (const Place* usage = members[kResponseUsage];
      usage != nullptr && is_object_field(inspection, "RES-11", *usage)) {
    final.usage = inspect_usage(inspection, *usage);
  }
  refuse_forbidden(inspection, "RES-12", members, "final",
                   {kResponseToolCalls, kToolContinuationMessage});
  return final;
}

ClientToolContinuation inspect_continuation(Inspection& inspection,
                                            const ResponseMembers& members) {
  ClientToolContinuation continuation;
  if (const Place* calls = members[kResponseToolCalls]; calls == nullptr) {
    inspection.refuse_missing("RES-20", members.object(), kResponseNames[kResponseToolCalls]);
  } else if (is_array_field(inspection, "RES-20", *calls)) {
    continuation.tool_calls = inspect_tool_calls(inspection, *calls);
    if (continuation.tool_calls.empty()) {
      inspection.refuse("RES-20", *calls, "a continuation asks for one tool call or more");
    }
  }
  continuation.tool_continuation_message =
      optional_text(inspection, "RES-21", members[kToolContinuationMessage]);
  refuse_forbidden(
      inspection, "RES-22", members, kContinuation,
      {kPrimaryOutputText, kResponseToolResults, kFiles, kUserWarnings, kResponseUsage});
  return continuation;
}

void inspect_kind(Inspection& inspection, const ResponseMembers& members,
                  AgentExecuteResponse& response) {
  const Place* place = members[kKind];
  if (place == nullptr) {
    inspection.refuse_missing("RES-02", members.object(), kResponseNames[kKind], {},
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
  const ResponseMembers members(place, kResponseNames, inspection.name_case());
  const auto text = [&](ResponseField field) {
    return required_text(inspection, "RES-01", members[field], place, kResponseNames[field]);
  };
  AgentExecuteResponse response{.session_id = text(kResponseSessionId),
                                .turn_id = text(kResponseTurnId),
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
                                         json::NameCase::folded, kResponseNames);
}

namespace {

void write(json::Writer& writer, const FinalResponse& final, Dialect dialect) {
  const auto name = [&](ResponseField field) { return spelled(kResponseNames[field], dialect); };
  const auto list = [&](ResponseField field, const auto& entries) {
    if (!entries) return;
    writer.name(name(field)).begin_array();
    for (const auto& entry : *entries) write(writer, entry, dialect);
    writer.end_array();
  };
  writer.member(name(kPrimaryOutputText), final.primary_output_text);
  list(kFiles, final.files);
  list(kResponseToolResults, final.tool_results);
  if (final.user_warnings) {
    writer.name(name(kUserWarnings)).begin_array();
    for (const std::string& warning : *final.user_warnings) writer.value(warning);
    writer.end_array();
  }
  if (final.usage) {
    writer.name(name(kResponseUsage));
    write(writer, *final.usage, dialect);
  }
}

void write(json::Writer& writer, const ClientToolContinuation& continuation, Dialect dialect) {
  if (continuation.tool_continuation_message) {
    writer.member(spelled(kResponseNames[kToolContinuationMessage], dialect),
                  *continuation.tool_continuation_message);
  }
  writer.name(spelled(kResponseNames[kResponseToolCalls], dialect)).begin_array();
  for (const ToolCall& call : continuation.tool_calls) contracts::write(writer, call, dialect);
  writer.end_array();
}

}  // namespace

void write(json::Writer& writer, const AgentExecuteResponse& response, Dialect dialect) {
  const bool final = std::holds_alternative<FinalResponse>(response.kind);
  writer.begin_object();
  writer.member(spelled(kResponseNames[kKind], dialect), final ? kFinal : kContinuation);
  writer.member(spelled(kResponseNames[kResponseSessionId], dialect), response.session_id);
  writer.member(spelled(kResponseNames[kResponseTurnId], dialect), response.turn_id);
  writer.member(spelled(kResponseNames[kModeDisplayName], dialect), response.mode_display_name);
  std::visit([&](const auto& kind) { write(writer, kind, dialect); }, response.kind);
  writer.end_object();
}

std::string encode(const AgentExecuteResponse& response, Dialect dialect) {
  json::Writer writer;
  write(writer, response, dialect);
  return writer.take();
}

}  // namespace treaty::contracts
