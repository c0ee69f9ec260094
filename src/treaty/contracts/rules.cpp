#include "treaty/contracts/rules.h"

#include <algorithm>

#include "treaty/contracts/rule_ids.h"

namespace treaty::contracts {
namespace {

constexpr Rule kRules[] = {
    // Every contract: the text itself.
    {"JSON-01", "RFC 8259 §2, §8.1",
     "A document is one RFC 8259 value in UTF-8 with nothing after it but white space; a byte "
     "order mark is refused, and skipped by lenient."},
    {"JSON-02", "RFC 8259 §4",
     "No object has the same member name twice after unescaping; in requests, responses and "
     "InvokeResults case does not tell names apart."},
    {"JSON-03", "RFC 8259 §9",
     "Objects and arrays nest at most 64 deep, the top one counting 1, and the document is at "
     "most the configured size (16 MiB unless set)."},
    {"JSON-04", "RFC 8259 §7, §8.2",
     "Strings are valid UTF-8 once unescaped, so that no surrogate stands alone, and control "
     "characters in them are written as escapes."},
    {"JSON-05", "RFC 8259 §6",
     "Numbers are finite, and an integer field takes an integer without fraction or exponent "
     "inside int64."},
    {"JSON-06", "Treaty", "The top value of a document is an object."},

    // AgentExecuteRequest (AGN-034).
    {"REQ-01", "AGN-034 §3",
     "SessionId is there, a string of 1 to 128 bytes, not blank and without control characters."},
    {"REQ-02", "AGN-034 §3",
     "TurnId is there, a string of 1 to 128 bytes, not blank and without control characters."},
    {"REQ-03", "AGN-034 §4",
     "Every member of a request has its documented type; null, [] and a blank string count as "
     "absent."},
    {"REQ-04", "AGN-034 §3",
     "ToolResults that are not empty make a request a tool continuation; any other request is a "
     "user turn.",
     Effect::tells},
    {"REQ-10", "AGN-034 §2.1",
     "A user turn has at least one of Instruction, InputArtifacts and ClipboardImages."},
    {"REQ-11", "AGN-034 §2.1, §5",
     "ToolResults do not stand beside Instruction, InputArtifacts or ClipboardImages: a user turn "
     "has none."},
    {"REQ-12", "AGN-034 §2.1, §3",
     "A request names no mode: Mode, ModeId, ModeKey, ModeName and ModeDisplayName are refused."},
    {"REQ-13", "AGN-034 §2.1, §3",
     "A request has no state or setting of a provider or model: PreviousResponseId, ResponseId, "
     "ContinuationId, ContinuationToken, Provider, Model, ModelName, ThreadId, RunId, "
     "ProviderState, Temperature, TopP, MaxTokens, Seed and StopSequences are refused, in any case "
     "and also with underscores (max_tokens)."},
    {"REQ-14", "AGN-034 §3",
     "A request has no diagnostics of the server: CorrelationId, TraceId, RequestId, Diagnostics, "
     "Debug and Progress are refused."},
    {"REQ-15", "Treaty",
     "A member that the request does not know is warned of and otherwise ignored.", Effect::warns},
    {"REQ-21", "AGN-034 §2.2", "A tool continuation has no Instruction."},
    {"REQ-22", "AGN-034 §2.2", "A tool continuation has no InputArtifacts."},
    {"REQ-23", "AGN-034 §2.2", "A tool continuation has no ClipboardImages."},
    {"REQ-24", "AGN-034 §2.2",
     "A tool continuation has no RagScope (null aside, not even one without conditions), "
     "SolutionContextText, WorkspaceId, Repo or Language."},
    {"REQ-25", "AGN-034 §2.2; Treaty decision D16",
     "A tool continuation does not set Streaming to true; false is the default spelled out and "
     "passes."},
    {"REQ-26", "AGN-034 §2.2; Treaty decision D16",
     "A tool continuation has no AgentContextId or ConversationContextId; lenient ignores them."},
    {"REQ-30", "AGN-034 §4.2",
     "An artifact has RelativePath, FileName, Contents and Origin, all strings, the first two not "
     "blank; Contents may be empty."},
    {"REQ-31", "AGN-034 §4.2",
     "RelativePath, with \\ read as /, is relative and stays inside: no leading slash, drive or "
     "~, no .. segment, no NUL or other control character."},
    {"REQ-32", "AGN-034 §4.2",
     "FileName has no path separator; one that differs from the last segment of RelativePath is "
     "warned of."},
    {"REQ-33", "AGN-034 §4.2", "Origin is ide or user, exactly."},
    {"REQ-34", "AGN-034 §4.2", "Encoding, when given, is utf8 (the default) or base64."},
    {"REQ-35", "AGN-034 §4.2; RFC 4648 §4",
     "Contents in base64 decode: RFC 4648 alphabet, padding required, no stray characters."},
    {"REQ-36", "AGN-034 §4.2", "The MimeType of an artifact, when given, looks like type/subtype."},
    {"REQ-40", "AGN-034 §4.3",
     "A clipboard image has Id, MimeType and DataBase64, none of them blank, and no two images "
     "share an Id."},
    {"REQ-41", "AGN-034 §4.3", "The MimeType of a clipboard image begins with image/."},
    {"REQ-42", "AGN-034 §4.3; RFC 4648 §4", "DataBase64 decodes to one byte or more."},
    {"REQ-50", "AGN-034 §4.4",
     "RagScope is an object whose Conditions, when there, are objects with Key (not blank), "
     "Operator and Values."},
    {"REQ-51", "AGN-034 §4.4", "Operator is one of ==, !=, contains and does_not_contain."},
    {"REQ-52", "AGN-034 §4.4", "Values of a condition is an array of one or more strings."},

    // Tool calls, tool results and their matching.
    {"TOOL-01", "AGN-033 §5.1",
     "A tool call has a ToolCallId and a Name that are not blank and ArgumentsJson, a string that "
     "holds a JSON object."},
    {"TOOL-02", "AGN-033 §3.3, §5.1",
     "The ToolCallIds of one set differ from each other, and a Name is 1 to 64 of A-Z, a-z, 0-9, "
     "_ and -."},
    {"TOOL-03", "AGN-033 §5.2",
     "A tool result has a ToolCallId that is not blank, and no two results of one submission "
     "share it."},
    {"TOOL-04", "AGN-033 §5.2",
     "ExecutionMs of a tool result is there, an integer, not negative; lenient reads a missing "
     "one as 0."},
    {"TOOL-05", "AGN-033 §5.2; Treaty decision D4",
     "A tool result has exactly one of ResultJson and ErrorMessage, a blank string counting as "
     "absent; a failure is a valid result."},
    {"TOOL-06", "Treaty",
     "ResultJson that does not parse as JSON is warned of and passed on as it came.",
     Effect::warns},
    {"TOOL-10", "AGN-033 §3.3",
     "A submission has as many tool results as there are pending calls."},
    {"TOOL-11", "AGN-033 §3.3", "A submission answers every pending id and no other."},
    {"TOOL-12", "AGN-033 §3.3; Treaty decision D3",
     "A submission answers the pending calls in the order they were given."},
    {"TOOL-13", "AGN-033 §3.1; AGN-034 §2.2",
     "A submission names a session and a turn of it that waits for tools."},

    // AgentExecuteResponse (AGN-033).
    {"RES-01", "AGN-033 §3.1",
     "SessionId, TurnId and ModeDisplayName are there, strings, not blank."},
    {"RES-02", "AGN-033 §3.2; Treaty decision D5",
     "Kind is there and is final or client_tool_continuation, exactly."},
    {"RES-03", "AGN-033 §1.3, §3.1",
     "A response has no member but Kind, SessionId, TurnId, ModeDisplayName, PrimaryOutputText, "
     "ToolContinuationMessage, ToolCalls, ToolResults, Files, UserWarnings and Usage: vendor "
     "payloads, continuation ids and diagnostics have no place in it."},
    {"RES-10", "AGN-033 §2.3, §3.4", "A final has PrimaryOutputText, a string that is not blank."},
    {"RES-11", "AGN-033 §3.4, §4.3",
     "Files, ToolResults, UserWarnings and Usage of a final, when there, have their types; a "
     "warning is a string that is not blank."},
    {"RES-12", "AGN-033 §3.4, §3.5",
     "A final has neither ToolCalls nor ToolContinuationMessage, not even null or empty."},
    {"RES-20", "AGN-033 §3.4",
     "A client_tool_continuation has ToolCalls, an array of one or more."},
    {"RES-21", "AGN-033 §3.4, §4.2",
     "ToolContinuationMessage of a client_tool_continuation, when there, is a string."},
    {"RES-22", "AGN-033 §3.4, §3.5",
     "A client_tool_continuation has no PrimaryOutputText, ToolResults, Files, UserWarnings or "
     "Usage, not even null or empty."},
    {"RES-30", "AGN-033 §4.1; Treaty decision D8",
     "A JSON object or array stands in a tagged fence: neither all of PrimaryOutputText nor the "
     "body of an untagged fence parses as one."},
    {"RES-31", "AGN-033 §6.1",
     "PrimaryOutputText has, outside a tagged fence, no data: URI in base64 and no run of 1,024 "
     "or more base64 characters."},
    {"RES-40", "AGN-033 §6.3; Treaty decision D7",
     "A FileRef has Name, MimeType, Url (absolute http or https, or a path beginning with /), "
     "SizeBytes (an integer, not negative) and ContentHash (64 lower-case hex digits)."},
    {"RES-41", "AGN-033 §6.3",
     "A FileRef may also have Description and ContentExpires (RFC 3339 with a zone), and nothing "
     "else."},
    {"RES-50", "AGN-033 §3.4",
     "Usage has PromptTokens, CompletionTokens and TotalTokens and may have CachedTokens and "
     "ReasoningTokens: integers, not negative."},
    {"RES-51", "AGN-033 §5.3",
     "ToolResults of a final follow TOOL-03 to TOOL-05, with no pending set to match: they report "
     "what the server ran.",
     Effect::delegates},

    // InvokeResult, the envelope of every answer.
    {"INV-01", "AGN-033 §2.1",
     "Successful is there, a boolean, and is true exactly when Errors is empty."},
    {"INV-02", "AGN-033 §2.1", "An InvokeResult that is not successful has no Result, or null."},
    {"INV-03", "AGN-033 §2.1",
     "A successful InvokeResult has a Result that is a valid AgentExecuteResponse; what is wrong "
     "inside is reported under its own rule."},
    {"INV-04", "Treaty",
     "An error or warning is an object of ErrorCode, Message (not blank), FatalError, "
     "SystemError, Context and Details; Treaty always writes an ErrorCode, and Details holds no "
     "stack trace, server path or secret."},

    // AgentResult.
    {"RLT-01", "AgentResult: AgentResult Structure",
     "An AgentResult is made of eleven optional members, null being absent: output, content, "
     "usage, cost, metadata, finish_reason, error, rate_limit, provider_data, tool_calls and "
     "rendered_user_prompt; another one is warned of.",
     Effect::warns},
    {"RLT-02", "AgentResult: Cross-Language Compatibility",
     "raw never leaves the process: a document that has it is refused."},
    {"RLT-03", "AgentResult: AgentResult Structure",
     "output, metadata and provider_data are objects; content is a string."},
    {"RLT-04", "AgentResult: finish_reason",
     "finish_reason is a string; one other than stop, length, tool_use, error, content_filter and "
     "aborted is warned of."},
    {"RLT-05", "AgentResult: error",
     "error is an object with message (not blank), code and type (strings), status_code (an "
     "integer from 100 to 599) and retryable (a boolean); a code other than rate_limit, timeout, "
     "server_error, invalid_request, auth_error, content_filter, context_length and "
     "model_unavailable is warned of."},
    {"RLT-06", "AgentResult: usage",
     "The counts of usage (input_tokens, output_tokens, total_tokens, cache_read_tokens, "
     "cache_write_tokens, api_calls) are integers, not negative; a total other than input plus "
     "output is warned of."},
    {"RLT-07", "AgentResult: cost",
     "cost is a number, the total, or an object of the numbers input, output, cache_read, "
     "cache_write and total."},
    {"RLT-08", "AgentResult: rate_limit",
     "rate_limit is an object with limited (required, a boolean), retry_after (a number, not "
     "negative) and windows (an array)."},
    {"RLT-09", "AgentResult: rate_limit",
     "A window has the strings name and resource and may have the numbers remaining, limit, "
     "resets_in and reset_at; limited false beside a window with remaining 0 is warned of."},
    {"RLT-10", "AgentResult: provider_data",
     "provider, model and request_id of provider_data are strings; raw_headers is an object with "
     "lower-case names and string values."},
    {"RLT-11", "AgentResult: AgentResult Structure",
     "A result without error is a success; error beside the finish_reason stop is warned of.",
     Effect::warns},

    // The bridge: .agent-request.json.
    {"BRQ-01", "Treaty",
     "request_id, version, agent_name and prompt are there, strings, not blank; created_at is "
     "there and is RFC 3339."},
    {"BRQ-02", "Treaty",
     "phase (integer), phase_name (string), timeout_seconds (integer above 0; 120 when absent), "
     "context (object), model (string or null) and response_file (string) have their types when "
     "there."},

    // The bridge: .agent-response.json.
    {"BRS-01", "Agent Response Format 1.0: Critical Requirements 3",
     "All nine members are there: request_id, version, status, response, error_message, "
     "error_type, created_at, duration_seconds and metadata."},
    {"BRS-02", "Agent Response Format 1.0: Critical Requirements 1",
     "A bridge response has no member beyond the nine; result is told that its name is response."},
    {"BRS-03", "Agent Response Format 1.0: Field Specifications",
     "request_id is a string, not blank; one that is no UUID is warned of."},
    {"BRS-04", "Agent Response Format 1.0: Field Specifications",
     "version is 1.0; another 1.x is warned of, another major version is refused."},
    {"BRS-05", "Agent Response Format 1.0: Field Specifications",
     "status is success, error or timeout, exactly."},
    {"BRS-06", "Agent Response Format 1.0: Critical Requirements 2",
     "response is a string or null; lenient encodes any other value as JSON text and sets "
     "metadata.auto_wrapped to true."},
    {"BRS-07", "Agent Response Format 1.0: Field Specifications",
     "With status success, response is a string and error_message and error_type are null."},
    {"BRS-08", "Agent Response Format 1.0: Field Specifications; Treaty decision D9",
     "With status error or timeout, error_message is a string, not blank, and error_type a string "
     "or null; a response that is not null is warned of."},
    {"BRS-09", "Agent Response Format 1.0: Field Specifications",
     "created_at is an ISO 8601 time with a zone; lenient reads one without a zone as UTC."},
    {"BRS-10", "Agent Response Format 1.0: Common Mistakes 5",
     "duration_seconds is a finite number, not negative; lenient reads a string that holds one."},
    {"BRS-11", "Agent Response Format 1.0: Field Specifications",
     "metadata is an object and may be empty."},
    {"BRS-12", "Agent Response Format 1.0: Generation Algorithm",
     "request_id equals that of the request when the request is at hand; any other answer is "
     "stale."},
    {"BRS-13", "Agent Response Format 1.0: Why Two-Level JSON Parsing; Treaty decision D10",
     "response parses as JSON when JSON is declared or asked for."},
    {"BRS-14", "Agent Response Format 1.0: Common Mistakes 4",
     "An object with neither request_id nor status is a part of an envelope or the output of an "
     "agent without one; lenient completes a part that has a single reading, and wraps an output."},

    // Assistant Response v1.
    {"ARL-01", "Assistant Response v1: Required Fields",
     "All six members are there: assistant_message, action_taken, next_steps, confidence_level, "
     "trace_id and response_version. For a producer, lenient puts the fallback of the contract in "
     "the place of what breaks this rule or ARL-04 to ARL-08."},
    {"ARL-02",
     "Assistant Response v1: Optional Fields, Backend Consumption Guide; Treaty decision D11",
     "A producer writes no member beyond the six; a consumer drops extra ones with a warning."},
    {"ARL-03", "Assistant Response v1: Never Allowed Fields",
     "A never-allowed name, at any depth of an extra member, is refused for a producer and "
     "dropped with a warning for a consumer: key_points, entities, word_count, sentence_count, "
     "timestamp, version, dates_times, context, confidence, original_text, parameters, priority, "
     "selected_agent, preferred_llm, device_context, memory_reference, intent, processed_text, "
     "voice_output, provider, model, prompt, temperature, top_p, stop, stop_sequences, tokens, "
     "agent, agent_name, steps, tool_parameters, stack_trace, env, logs, sentry_id, file_path, "
     "db_reference."},
    {"ARL-04", "Assistant Response v1: Required Fields",
     "assistant_message and action_taken are strings, not blank."},
    {"ARL-05", "Assistant Response v1: Required Fields",
     "next_steps is an array of strings that are not blank; it may be empty."},
    {"ARL-06", "Assistant Response v1: Required Fields",
     "confidence_level is high, medium or low."},
    {"ARL-07", "Assistant Response v1: Required Fields", "trace_id is a string, not blank."},
    {"ARL-08", "Assistant Response v1: Required Fields", "response_version is v1, exactly."},
    {"ARL-09", "Assistant Response v1: Never Allowed Fields",
     "The texts leak no internals: no stack trace (Python, Java, C#, Node, Go, gdb), absolute "
     "file path (POSIX below a known root, drive letter, UNC) or path of a source file, KEY=value "
     "line with a secret-like name or a long value, provider key (sk-, sk-ant-, gsk_, AIza, xai-, "
     "ghp_), bearer token or JWT, URL with credentials or address of a database, SQL error, "
     "exception name, crash, exit code or error code of a program, Sentry id, log line, token "
     "count, model id (gpt-4o, claude-sonnet-4), or provider's name together with a failure. Prose "
     "and web links pass."},
};

struct ContractName {
  std::string_view letters;
  std::string_view contract;
};
constexpr ContractName kContractNames[] = {
    {"JSON", "json"},          {"REQ", "request"},         {"TOOL", "tools"},
    {"RES", "response"},       {"INV", "invoke-result"},   {"RLT", "agent-result"},
    {"BRQ", "bridge-request"}, {"BRS", "bridge-response"}, {"ARL", "assistant"},
    {"MCH", "machine"},
};

// A new rule stands in both lists, at the same place.
static_assert(std::ranges::equal(kRules, kRuleIds, {}, &Rule::id));

}  // namespace

std::string_view Rule::contract() const {
  const auto* const found =
      std::ranges::find(kContractNames, id.substr(0, id.find('-')), &ContractName::letters);
  return found == std::end(kContractNames) ? "" : found->contract;
}

std::span<const Rule> rules() { return kRules; }

const Rule* find_rule(std::string_view id) {
  const auto* const found = std::ranges::find(kRules, id, &Rule::id);
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace treaty::contracts
