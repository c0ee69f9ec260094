#include "treaty/contracts/rules.h"

#include <algorithm>

#include "treaty/contracts/rule_ids.h"

namespace treaty::contracts {
namespace {

constexpr Rule kRules[] = {
    // Every contract: the text itself.
    {"JSON-01", "json", Effect::refuses,
     "A document is one RFC 8259 value in UTF-8 with nothing after it but white space; a byte "
     "order mark is refused, and skipped by lenient.",
     "RFC 8259 §2, §8.1"},
    {"JSON-02", "json", Effect::refuses,
     "No object has the same member name twice after unescaping; in requests, responses and "
     "InvokeResults case does not tell names apart.",
     "RFC 8259 §4"},
    {"JSON-03", "json", Effect::refuses,
     "Objects and arrays nest at most 64 deep, the top one counting 1, and the document is at "
     "most the configured size (16 MiB unless set).",
     "RFC 8259 §9"},
    {"JSON-04", "json", Effect::refuses,
     "Strings are valid UTF-8 once unescaped, so that no surrogate stands alone, and control "
     "characters in them are written as escapes.",
     "RFC 8259 §7, §8.2"},
    {"JSON-05", "json", Effect::refuses,
     "Numbers are finite, and an integer field takes an integer without fraction or exponent "
     "inside int64.",
     "RFC 8259 §6"},
    {"JSON-06", "json", Effect::refuses, "The top value of a document is an object.", "Treaty"},

    // AgentExecuteRequest (AGN-034).
    {"REQ-01", "request", Effect::refuses,
     "SessionId is there, a string of 1 to 128 bytes, not blank and without control characters.",
     "AGN-034 §3"},
    {"REQ-02", "request", Effect::refuses,
     "TurnId is there, a string of 1 to 128 bytes, not blank and without control characters.",
     "AGN-034 §3"},
    {"REQ-03", "request", Effect::refuses,
     "Every member of a request has its documented type; null, [] and a blank string count as "
     "absent.",
     "AGN-034 §4"},
    {"REQ-04", "request", Effect::tells,
     "ToolResults that are not empty make a request a tool continuation; any other request is a "
     "user turn.",
     "AGN-034 §3"},
    {"REQ-10", "request", Effect::refuses,
     "A user turn has at least one of Instruction, InputArtifacts and ClipboardImages.",
     "AGN-034 §2.1"},
    {"REQ-11", "request", Effect::refuses,
     "ToolResults do not stand beside Instruction, InputArtifacts or ClipboardImages: a user "
     "turn has none.",
     "AGN-034 §2.1, §5"},
    {"REQ-12", "request", Effect::refuses,
     "A request names no mode: Mode, ModeId, ModeKey, ModeName and ModeDisplayName are refused.",
     "AGN-034 §2.1, §3"},
    {"REQ-13", "request", Effect::refuses,
     "A request has no continuation state of a provider or model: PreviousResponseId, "
     "previous_response_id, ResponseId, ContinuationId, ContinuationToken, Provider, Model, "
     "ModelName, ThreadId and RunId are refused.",
     "AGN-034 §2.1, §3"},
    {"REQ-14", "request", Effect::refuses,
     "A request has no diagnostics of the server: CorrelationId, TraceId, RequestId, "
     "Diagnostics, Debug and Progress are refused.",
     "AGN-034 §3"},
    {"REQ-15", "request", Effect::warns,
     "A member that the request does not know is warned of and otherwise ignored.", "Treaty"},
    {"REQ-21", "request", Effect::refuses, "A tool continuation has no Instruction.",
     "AGN-034 §2.2"},
    {"REQ-22", "request", Effect::refuses, "A tool continuation has no InputArtifacts.",
     "AGN-034 §2.2"},
    {"REQ-23", "request", Effect::refuses, "A tool continuation has no ClipboardImages.",
     "AGN-034 §2.2"},
    {"REQ-24", "request", Effect::refuses,
     "A tool continuation has no RagScope (null aside, not even one without conditions), "
     "SolutionContextText, WorkspaceId, Repo or Language.",
     "AGN-034 §2.2"},
    {"REQ-25", "request", Effect::refuses,
     "A tool continuation does not set Streaming to true; false is the default spelled out and "
     "passes.",
     "AGN-034 §2.2; Treaty decision D16"},
    {"REQ-26", "request", Effect::refuses,
     "A tool continuation has no AgentContextId or ConversationContextId; lenient ignores them.",
     "AGN-034 §2.2; Treaty decision D16"},
    {"REQ-30", "request", Effect::refuses,
     "An artifact has RelativePath, FileName, Contents and Origin, all strings, the first two "
     "not blank; Contents may be empty.",
     "AGN-034 §4.2"},
    {"REQ-31", "request", Effect::refuses,
     "RelativePath, with \\ read as /, is relative and stays inside: no leading slash, drive or "
     "~, no .. segment, no NUL or other control character.",
     "AGN-034 §4.2"},
    {"REQ-32", "request", Effect::refuses,
     "FileName has no path separator; one that differs from the last segment of RelativePath is "
     "warned of.",
     "AGN-034 §4.2"},
    {"REQ-33", "request", Effect::refuses, "Origin is ide or user, exactly.", "AGN-034 §4.2"},
    {"REQ-34", "request", Effect::refuses, "Encoding, when given, is utf8 (the default) or base64.",
     "AGN-034 §4.2"},
    {"REQ-35", "request", Effect::refuses,
     "Contents in base64 decode: RFC 4648 alphabet, padding required, no stray characters.",
     "AGN-034 §4.2; RFC 4648 §4"},
    {"REQ-36", "request", Effect::refuses,
     "The MimeType of an artifact, when given, looks like type/subtype.", "AGN-034 §4.2"},
    {"REQ-40", "request", Effect::refuses,
     "A clipboard image has Id, MimeType and DataBase64, none of them blank, and no two images "
     "share an Id.",
     "AGN-034 §4.3"},
    {"REQ-41", "request", Effect::refuses, "The MimeType of a clipboard image begins with image/.",
     "AGN-034 §4.3"},
    {"REQ-42", "request", Effect::refuses, "DataBase64 decodes to one byte or more.",
     "AGN-034 §4.3; RFC 4648 §4"},
    {"REQ-50", "request", Effect::refuses,
     "RagScope is an object whose Conditions, when there, are objects with Key (not blank), "
     "Operator and Values.",
     "AGN-034 §4.4"},
    {"REQ-51", "request", Effect::refuses,
     "Operator is one of ==, !=, contains and does_not_contain.", "AGN-034 §4.4"},
    {"REQ-52", "request", Effect::refuses,
     "Values of a condition is an array of one or more strings.", "AGN-034 §4.4"},

    // Tool calls, tool results and their matching.
    {"TOOL-01", "tools", Effect::refuses,
     "A tool call has a ToolCallId and a Name that are not blank and ArgumentsJson, a string "
     "that holds a JSON object.",
     "AGN-033 §5.1"},
    {"TOOL-02", "tools", Effect::refuses,
     "The ToolCallIds of one set differ from each other, and a Name is 1 to 64 of A-Z, a-z, 0-9, "
     "_ and -.",
     "AGN-033 §3.3, §5.1"},
    {"TOOL-03", "tools", Effect::refuses,
     "A tool result has a ToolCallId that is not blank, and no two results of one submission "
     "share it.",
     "AGN-033 §5.2"},
    {"TOOL-04", "tools", Effect::refuses,
     "ExecutionMs of a tool result is there, an integer, not negative; lenient reads a missing "
     "one as 0.",
     "AGN-033 §5.2"},
    {"TOOL-05", "tools", Effect::refuses,
     "A tool result has exactly one of ResultJson and ErrorMessage, a blank string counting as "
     "absent; a failure is a valid result.",
     "AGN-033 §5.2; Treaty decision D4"},
    {"TOOL-06", "tools", Effect::warns,
     "ResultJson that does not parse as JSON is warned of and passed on as it came.", "Treaty"},
    {"TOOL-10", "tools", Effect::refuses,
     "A submission has as many tool results as there are pending calls.", "AGN-033 §3.3"},
    {"TOOL-11", "tools", Effect::refuses, "A submission answers every pending id and no other.",
     "AGN-033 §3.3"},
    {"TOOL-12", "tools", Effect::refuses,
     "A submission answers the pending calls in the order they were given.",
     "AGN-033 §3.3; Treaty decision D3"},
    {"TOOL-13", "tools", Effect::refuses,
     "A submission names a session and a turn of it that waits for tools.",
     "AGN-033 §3.1; AGN-034 §2.2"},

    // AgentExecuteResponse (AGN-033).
    {"RES-01", "response", Effect::refuses,
     "SessionId, TurnId and ModeDisplayName are there, strings, not blank.", "AGN-033 §3.1"},
    {"RES-02", "response", Effect::refuses,
     "Kind is there and is final or client_tool_continuation, exactly.",
     "AGN-033 §3.2; Treaty decision D5"},
    {"RES-03", "response", Effect::refuses,
     "A response has no member but Kind, SessionId, TurnId, ModeDisplayName, PrimaryOutputText, "
     "ToolContinuationMessage, ToolCalls, ToolResults, Files, UserWarnings and Usage: vendor "
     "payloads, continuation ids and diagnostics have no place in it.",
     "AGN-033 §1.3, §3.1"},
    {"RES-10", "response", Effect::refuses,
     "A final has PrimaryOutputText, a string that is not blank.", "AGN-033 §2.3, §3.4"},
    {"RES-11", "response", Effect::refuses,
     "Files, ToolResults, UserWarnings and Usage of a final, when there, have their types; a "
     "warning is a string that is not blank.",
     "AGN-033 §3.4, §4.3"},
    {"RES-12", "response", Effect::refuses,
     "A final has neither ToolCalls nor ToolContinuationMessage, not even null or empty.",
     "AGN-033 §3.4, §3.5"},
    {"RES-20", "response", Effect::refuses,
     "A client_tool_continuation has ToolCalls, an array of one or more.", "AGN-033 §3.4"},
    {"RES-21", "response", Effect::refuses,
     "ToolContinuationMessage of a client_tool_continuation, when there, is a string.",
     "AGN-033 §3.4, §4.2"},
    {"RES-22", "response", Effect::refuses,
     "A client_tool_continuation has no PrimaryOutputText, ToolResults, Files, UserWarnings or "
     "Usage, not even null or empty.",
     "AGN-033 §3.4, §3.5"},
    {"RES-30", "response", Effect::refuses,
     "A JSON object or array stands in a tagged fence: neither all of PrimaryOutputText nor the "
     "body of an untagged fence parses as one.",
     "AGN-033 §4.1; Treaty decision D8"},
    {"RES-31", "response", Effect::refuses,
     "PrimaryOutputText has, outside a tagged fence, no data: URI in base64 and no run of 1,024 "
     "or more base64 characters.",
     "AGN-033 §6.1"},
    {"RES-40", "response", Effect::refuses,
     "A FileRef has Name, MimeType, Url (absolute http or https, or a path beginning with /), "
     "SizeBytes (an integer, not negative) and ContentHash (64 lower-case hex digits).",
     "AGN-033 §6.3; Treaty decision D7"},
    {"RES-41", "response", Effect::refuses,
     "A FileRef may also have Description and ContentExpires (RFC 3339 with a zone), and nothing "
     "else.",
     "AGN-033 §6.3"},
    {"RES-50", "response", Effect::refuses,
     "Usage has PromptTokens, CompletionTokens and TotalTokens and may have CachedTokens and "
     "ReasoningTokens: integers, not negative.",
     "AGN-033 §3.4"},
    {"RES-51", "response", Effect::delegates,
     "ToolResults of a final follow TOOL-03 to TOOL-05, with no pending set to match: they "
     "report what the server ran.",
     "AGN-033 §5.3"},

    // InvokeResult, the envelope of every answer.
    {"INV-01", "invoke-result", Effect::refuses,
     "Successful is there, a boolean, and is true exactly when Errors is empty.", "AGN-033 §2.1"},
    {"INV-02", "invoke-result", Effect::refuses,
     "An InvokeResult that is not successful has no Result, or null.", "AGN-033 §2.1"},
    {"INV-03", "invoke-result", Effect::refuses,
     "A successful InvokeResult has a Result that is a valid AgentExecuteResponse; what is wrong "
     "inside is reported under its own rule.",
     "AGN-033 §2.1"},
    {"INV-04", "invoke-result", Effect::refuses,
     "An error or warning is an object of ErrorCode, Message (not blank), FatalError, "
     "SystemError, Context and Details; Treaty always writes an ErrorCode, and Details holds no "
     "stack trace, server path or secret.",
     "Treaty"},

    // AgentResult.
    {"RLT-01", "agent-result", Effect::warns,
     "An AgentResult is made of eleven optional members, null being absent: output, content, "
     "usage, cost, metadata, finish_reason, error, rate_limit, provider_data, tool_calls and "
     "rendered_user_prompt; another one is warned of.",
     "AgentResult: AgentResult Structure"},
    {"RLT-02", "agent-result", Effect::refuses,
     "raw never leaves the process: a document that has it is refused.",
     "AgentResult: Cross-Language Compatibility"},
    {"RLT-03", "agent-result", Effect::refuses,
     "output, metadata and provider_data are objects; content is a string.",
     "AgentResult: AgentResult Structure"},
    {"RLT-04", "agent-result", Effect::refuses,
     "finish_reason is a string; one other than stop, length, tool_use, error, content_filter "
     "and aborted is warned of.",
     "AgentResult: finish_reason"},
    {"RLT-05", "agent-result", Effect::refuses,
     "error is an object with message (not blank), code and type (strings), status_code (an "
     "integer from 100 to 599) and retryable (a boolean); a code other than rate_limit, timeout, "
     "server_error, invalid_request, auth_error, content_filter, context_length and "
     "model_unavailable is warned of.",
     "AgentResult: error"},
    {"RLT-06", "agent-result", Effect::refuses,
     "The counts of usage (input_tokens, output_tokens, total_tokens, cache_read_tokens, "
     "cache_write_tokens, api_calls) are integers, not negative; a total other than input plus "
     "output is warned of.",
     "AgentResult: usage"},
    {"RLT-07", "agent-result", Effect::refuses,
     "cost is a number, the total, or an object of the numbers input, output, cache_read, "
     "cache_write and total.",
     "AgentResult: cost"},
    {"RLT-08", "agent-result", Effect::refuses,
     "rate_limit is an object with limited (required, a boolean), retry_after (a number, not "
     "negative) and windows (an array).",
     "AgentResult: rate_limit"},
    {"RLT-09", "agent-result", Effect::refuses,
     "A window has the strings name and resource and may have the numbers remaining, limit, "
     "resets_in and reset_at; limited false beside a window with remaining 0 is warned of.",
     "AgentResult: rate_limit"},
    {"RLT-10", "agent-result", Effect::refuses,
     "provider, model and request_id of provider_data are strings; raw_headers is an object with "
     "lower-case names and string values.",
     "AgentResult: provider_data"},
    {"RLT-11", "agent-result", Effect::warns,
     "A result without error is a success; error beside the finish_reason stop is warned of.",
     "AgentResult: AgentResult Structure"},

    // The bridge: .agent-request.json.
    {"BRQ-01", "bridge-request", Effect::refuses,
     "request_id, version, agent_name and prompt are there, strings, not blank; created_at is "
     "there and is RFC 3339.",
     "Treaty"},
    {"BRQ-02", "bridge-request", Effect::refuses,
     "phase (integer), phase_name (string), timeout_seconds (integer above 0; 120 when absent), "
     "context (object), model (string or null) and response_file (string) have their types when "
     "there.",
     "Treaty"},

    // The bridge: .agent-response.json.
    {"BRS-01", "bridge-response", Effect::refuses,
     "All nine members are there: request_id, version, status, response, error_message, "
     "error_type, created_at, duration_seconds and metadata.",
     "Agent Response Format 1.0: Critical Requirements 3"},
    {"BRS-02", "bridge-response", Effect::refuses,
     "A bridge response has no member beyond the nine; result is told that its name is response.",
     "Agent Response Format 1.0: Critical Requirements 1"},
    {"BRS-03", "bridge-response", Effect::refuses,
     "request_id is a string, not blank; one that is no UUID is warned of.",
     "Agent Response Format 1.0: Field Specifications"},
    {"BRS-04", "bridge-response", Effect::refuses,
     "version is 1.0; another 1.x is warned of, another major version is refused.",
     "Agent Response Format 1.0: Field Specifications"},
    {"BRS-05", "bridge-response", Effect::refuses, "status is success, error or timeout, exactly.",
     "Agent Response Format 1.0: Field Specifications"},
    {"BRS-06", "bridge-response", Effect::refuses,
     "response is a string or null; lenient encodes any other value as JSON text and sets "
     "metadata.auto_wrapped to true.",
     "Agent Response Format 1.0: Critical Requirements 2"},
    {"BRS-07", "bridge-response", Effect::refuses,
     "With status success, response is a string and error_message and error_type are null.",
     "Agent Response Format 1.0: Field Specifications"},
    {"BRS-08", "bridge-response", Effect::refuses,
     "With status error or timeout, error_message is a string, not blank, and error_type a "
     "string or null; a response that is not null is warned of.",
     "Agent Response Format 1.0: Field Specifications; Treaty decision D9"},
    {"BRS-09", "bridge-response", Effect::refuses,
     "created_at is an ISO 8601 time with a zone; lenient reads one without a zone as UTC.",
     "Agent Response Format 1.0: Field Specifications"},
    {"BRS-10", "bridge-response", Effect::refuses,
     "duration_seconds is a finite number, not negative; lenient reads a string that holds one.",
     "Agent Response Format 1.0: Common Mistakes 5"},
    {"BRS-11", "bridge-response", Effect::refuses, "metadata is an object and may be empty.",
     "Agent Response Format 1.0: Field Specifications"},
    {"BRS-12", "bridge-response", Effect::refuses,
     "request_id equals that of the request when the request is at hand; any other answer is "
     "stale.",
     "Agent Response Format 1.0: Generation Algorithm"},
    {"BRS-13", "bridge-response", Effect::refuses,
     "response parses as JSON when JSON is declared or asked for.",
     "Agent Response Format 1.0: Why Two-Level JSON Parsing; Treaty decision D10"},
    {"BRS-14", "bridge-response", Effect::refuses,
     "An object with neither request_id nor status is the output of an agent without its "
     "envelope; lenient wraps it.",
     "Agent Response Format 1.0: Common Mistakes 4"},

    // Assistant Response v1.
    {"ARL-01", "assistant", Effect::refuses,
     "All six members are there: assistant_message, action_taken, next_steps, confidence_level, "
     "trace_id and response_version.",
     "Assistant Response v1: Required Fields"},
    {"ARL-02", "assistant", Effect::refuses,
     "A producer writes no member beyond the six; a consumer drops extra ones with a warning.",
     "Assistant Response v1: Optional Fields, Backend Consumption Guide; Treaty decision D11"},
    {"ARL-03", "assistant", Effect::refuses,
     "A never-allowed name, at any depth of an extra member, is refused for a producer and "
     "dropped with a warning for a consumer: key_points, entities, word_count, sentence_count, "
     "timestamp, version, dates_times, context, confidence, original_text, parameters, priority, "
     "selected_agent, preferred_llm, device_context, memory_reference, intent, processed_text, "
     "voice_output, provider, model, prompt, temperature, top_p, stop, stop_sequences, tokens, "
     "agent, agent_name, steps, tool_parameters, stack_trace, env, logs, sentry_id, file_path, "
     "db_reference.",
     "Assistant Response v1: Never Allowed Fields"},
    {"ARL-04", "assistant", Effect::refuses,
     "assistant_message and action_taken are strings, not blank.",
     "Assistant Response v1: Required Fields"},
    {"ARL-05", "assistant", Effect::refuses,
     "next_steps is an array of strings that are not blank; it may be empty.",
     "Assistant Response v1: Required Fields"},
    {"ARL-06", "assistant", Effect::refuses, "confidence_level is high, medium or low.",
     "Assistant Response v1: Required Fields"},
    {"ARL-07", "assistant", Effect::refuses, "trace_id is a string, not blank.",
     "Assistant Response v1: Required Fields"},
    {"ARL-08", "assistant", Effect::refuses, "response_version is v1, exactly.",
     "Assistant Response v1: Required Fields"},
    {"ARL-09", "assistant", Effect::refuses,
     "The texts leak no internals: no stack trace (Python, Java, C#, Node, Go, gdb), absolute "
     "file path (POSIX below a known root, drive letter, UNC), KEY=value line with a secret-like "
     "name or a long value, provider key (sk-, sk-ant-, gsk_, AIza, xai-, ghp_), bearer token or "
     "JWT, and no URL with credentials or address of a database.",
     "Assistant Response v1: Never Allowed Fields"},
};

// A new rule stands in both lists, at the same place.
static_assert(std::ranges::equal(kRules, kRuleIds, {}, &Rule::id));

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view id) {
  const auto* const found = std::ranges::find(kRules, id, &Rule::id);
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace treaty::contracts
