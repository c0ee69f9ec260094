#include "treaty/bridge/result_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/bridge/result_record.h"
#include "treaty/contracts/decode_agent_result.h"

namespace treaty::bridge {
namespace {

using contracts::AgentError;
using contracts::AgentResult;
using contracts::BridgeError;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;
using contracts::BridgeTimeout;
using json::ObjectText;

constexpr std::string_view kAgentResult = "agent_result";
constexpr std::string_view kContent = "content";
constexpr std::string_view kOutput = "output";
constexpr std::string_view kError = "error";
constexpr std::string_view kFinishReason = "finish_reason";
constexpr std::string_view kMessage = "message";
constexpr std::string_view kCode = "code";
constexpr std::string_view kType = "type";
constexpr std::string_view kRetryable = "retryable";
constexpr std::string_view kStatusCode = "status_code";
constexpr std::string_view kModel = "model";
constexpr std::string_view kProviderRequestId = "provider_request_id";
constexpr std::string_view kInputTokens = "input_tokens";
constexpr std::string_view kOutputTokens = "output_tokens";
constexpr std::string_view kTimeout = "timeout";

// Members whose shape is open, and those that the contract's own code writes and reads.
constexpr std::array<std::pair<std::string_view, std::optional<ObjectText> AgentResult::*>, 2>
    kObjects = {
        {{"metadata", &AgentResult::metadata}, {"provider_data", &AgentResult::provider_data}}};
constexpr std::array<std::string_view, 4> kParts = {"usage", "cost", "rate_limit", "tool_calls"};

// A document may be 64 levels deep (JSON-03). What is deeper than half of it goes as text, so that
// a response that passes through several bridges stays readable.
constexpr std::size_t kDeepest = 32;

// Of any size: what was in memory is read again.
constexpr std::size_t kAnySize = std::size_t{1} << 31U;

std::size_t depth_of(json::Value value) {
  std::size_t deepest = 0;
  if (value.is_array()) {
    for (const json::Value element : value.elements()) {
      deepest = std::max(deepest, depth_of(element));
    }
    return deepest + 1;
  }
  if (!value.is_object()) return 0;
  for (const json::Member member : value.members()) {
    deepest = std::max(deepest, depth_of(member.value));
  }
  return deepest + 1;
}

std::optional<std::int64_t> find_integer(const ObjectText& in, std::string_view name,
                                         std::int64_t least, std::int64_t most) {
  const auto integer = in.find_integer(name);
  if (!integer || *integer < least || *integer > most) return std::nullopt;
  return integer;
}

bool is_null(const ObjectText& in, std::string_view name) {
  return in.find(name) == json::ValueText(nullptr);
}

void put(ObjectText& into, std::string_view name, const auto& value) {
  if (value) into.add(name, *value);
}

// BRS-08 wants a message for people, where a backend may have had none.
std::string_view message_in_place_of_none(bool timeout) {
  return timeout ? "the agent did not answer in time, and said no more"
                 : "the agent failed and did not say why";
}

bool is_timeout(const AgentError& error) { return error.code == kTimeout; }

decltype(BridgeResponse::outcome) outcome_of(const AgentResult& result) {
  if (!result.error) return BridgeSuccess{text_of_success(result)};
  const AgentError& error = *result.error;
  const bool timeout = is_timeout(error);
  std::string message =
      is_blank(error.message) ? std::string(message_in_place_of_none(timeout)) : error.message;
  if (timeout) return BridgeTimeout{.error_message = std::move(message)};
  return BridgeError{.error_message = std::move(message), .error_type = error.code};
}

// What the envelope does not tell of an error. A code that is not there is told, too: for others,
// an error without a type is a server_error.
ObjectText rest_of(const AgentError& error) {
  ObjectText rest;
  if (is_blank(error.message)) rest.add(kMessage, error.message);
  if (!error.code) rest.add(kCode, nullptr);
  put(rest, kType, error.type);
  return rest;
}

// `content: null` says that the text of the response is no content. A failure has no text in the
// envelope (BRS-08), so what there was of it is here.
void put_texts(ObjectText& rest, const AgentResult& result) {
  const bool is_text_of_response = !result.error && !result.content;
  if (is_text_of_response) rest.add(kContent, nullptr);
  if (result.error) put(rest, kContent, result.content);
  if (!is_text_of_response) put(rest, kOutput, result.output);
}

json::ValueText rest_of(const AgentResult& result) {
  ObjectText rest;
  put_texts(rest, result);
  rest.add(kFinishReason, nullptr);
  if (result.finish_reason) rest.set(kFinishReason, *result.finish_reason);
  if (result.error) rest.add(kError, rest_of(*result.error));
  const auto parts =
      ObjectText::parse(contracts::encode(AgentResult{.usage = result.usage,
                                                      .cost = result.cost,
                                                      .rate_limit = result.rate_limit,
                                                      .tool_calls = result.tool_calls}));
  for (const std::string_view name : kParts) {
    if (parts) put(rest, name, parts->find(name));
  }
  for (const auto& [name, member] : kObjects) put(rest, name, result.*member);
  put(rest, "rendered_user_prompt", result.rendered_user_prompt);
  const json::Document document = rest.read();
  if (depth_of(*document.root()) > kDeepest) return rest.text();
  return rest;
}

void put_unless_empty(ObjectText& into, std::string_view name, std::string_view text) {
  if (!text.empty()) into.add(name, text);
}

// For people, and for programs that know nothing of an AgentResult.
ObjectText metadata_of(const AgentResult& result, const AnsweredBy& answered_by) {
  ObjectText metadata;
  const ObjectText data = result.provider_data.value_or(ObjectText());
  put_unless_empty(metadata, "agent", answered_by.agent);
  put_unless_empty(
      metadata, "backend",
      answered_by.backend.empty() ? data.find_text("provider").value_or("") : answered_by.backend);
  put_unless_empty(metadata, kModel, data.find_text(kModel).value_or(answered_by.model));
  put(metadata, kProviderRequestId, data.find_text("request_id"));
  if (result.usage) {
    put(metadata, kInputTokens, result.usage->input_tokens);
    put(metadata, kOutputTokens, result.usage->output_tokens);
  }
  if (result.error) {
    put(metadata, kRetryable, result.error->retryable);
    put(metadata, kStatusCode, result.error->status_code);
  }
  metadata.add(kAgentResult, rest_of(result));
  return metadata;
}

// The rest of the result, if it is one of ours: an object, or the text of one.
std::optional<ObjectText> find_rest(const ObjectText& metadata) {
  if (auto rest = metadata.find_object(kAgentResult)) return rest;
  const auto text = metadata.find_text(kAgentResult);
  return text ? ObjectText::parse(*text) : std::nullopt;
}

// The parts that keep the contract; one that was spoilt does not spoil the others.
void read_parts(const ObjectText& rest, AgentResult& result) {
  for (const std::string_view name : kParts) {
    const auto value = rest.find(name);
    if (!value) continue;
    const auto part =
        contracts::decode_agent_result(ObjectText{{name, *value}}.text(), {.max_size = kAnySize});
    if (!part) continue;
    if (part->usage) result.usage = part->usage;
    if (part->cost) result.cost = part->cost;
    if (part->rate_limit) result.rate_limit = part->rate_limit;
    if (part->tool_calls) result.tool_calls = part->tool_calls;
  }
}

void read_success(const std::string& text, const ObjectText& rest, AgentResult& result) {
  result.output = rest.find_object(kOutput);
  result.content = text;
  if (!is_null(rest, kContent) || result.output) return;
  if (text.empty()) result.content.reset();
  auto output = ObjectText::parse(text);
  if (!output || output->text() != text) return;  // Edited: it is no longer ours to read.
  result.content.reset();
  result.output = std::move(output);
}

// As the table of errors has it; nothing for a code that is not in it.
std::optional<bool> usually_retryable(std::string_view code) {
  constexpr std::array<std::string_view, 3> kYes = {"rate_limit", "timeout", "server_error"};
  constexpr std::array<std::string_view, 5> kNo = {
      "invalid_request", "auth_error", "content_filter", "context_length", "model_unavailable"};
  if (std::ranges::find(kYes, code) != kYes.end()) return true;
  if (std::ranges::find(kNo, code) != kNo.end()) return false;
  return std::nullopt;
}

// `rest` is what was kept of the error; null when somebody else wrote the response.
AgentError error_of(const BridgeError& failure, const ObjectText& metadata,
                    const ObjectText* rest) {
  AgentError error{.message = failure.error_message, .code = failure.error_type};
  const bool without_code = rest != nullptr && is_null(*rest, kCode);
  if (!error.code && !without_code) error.code = "server_error";
  if (const auto retryable = metadata.find_boolean(kRetryable)) {
    error.retryable = *retryable;
  } else if (rest == nullptr) {
    error.retryable = usually_retryable(*error.code);
  }
  error.status_code = find_integer(metadata, kStatusCode, 100, 599);
  if (rest == nullptr) return error;
  error.type = rest->find_text(kType);
  const auto original = rest->find_text(kMessage);
  if (original && is_blank(*original) &&
      error.message == message_in_place_of_none(is_timeout(error))) {
    error.message = *original;
  }
  return error;
}

void read_failure(const BridgeError& failure, const ObjectText& metadata, const ObjectText& rest,
                  AgentResult& result) {
  result.content = failure.response ? failure.response : rest.find_text(kContent);
  result.output = rest.find_object(kOutput);
  const auto kept = rest.find_object(kError);
  result.error = error_of(failure, metadata, kept ? &*kept : nullptr);
}

// What a stranger's metadata tell by the names that are ours, too.
void read_plain_metadata(const ObjectText& metadata, AgentResult& result) {
  const auto input = find_integer(metadata, kInputTokens, 0, INT64_MAX);
  const auto output = find_integer(metadata, kOutputTokens, 0, INT64_MAX);
  if (input || output) result.usage = {.input_tokens = input, .output_tokens = output};
  std::int64_t total = 0;
  if (input && output && !__builtin_add_overflow(*input, *output, &total)) {
    result.usage->total_tokens = total;
  }
  ObjectText data;
  put(data, kModel, metadata.find_text(kModel));
  put(data, "request_id", metadata.find_text(kProviderRequestId));
  if (!data.empty()) result.provider_data = std::move(data);
}

void read_rest(const ObjectText& rest, AgentResult& result) {
  const bool agrees = result.error.has_value() == rest.find_object(kError).has_value();
  if (agrees && rest.contains(kFinishReason)) result.finish_reason = rest.find_text(kFinishReason);
  read_parts(rest, result);
  for (const auto& [name, member] : kObjects) {
    if (auto value = rest.find_object(name)) result.*member = *std::move(value);
  }
  result.rendered_user_prompt = rest.find_text("rendered_user_prompt");
}

BridgeError failure_of(const BridgeError& error) { return error; }
BridgeError failure_of(const BridgeTimeout& timeout) {
  return {timeout.error_message, std::string(kTimeout), timeout.response};
}

}  // namespace

BridgeResponse response_of(const AgentResult& result, const Envelope& envelope,
                           const AnsweredBy& answered_by) {
  auto read = recorded_response(result);
  if (read && read->request_id == envelope.request_id && result_of(*read) == result) {
    return *std::move(read);
  }
  return {.request_id = envelope.request_id,
          .outcome = outcome_of(result),
          .created_at = envelope.created_at,
          .duration_seconds = envelope.duration_seconds,
          .metadata = metadata_of(result, answered_by)};
}

AgentResult result_of(const BridgeResponse& response) {
  AgentResult result;
  const ObjectText& metadata = response.metadata;
  const std::optional<ObjectText> found = find_rest(metadata);
  const ObjectText rest = found.value_or(ObjectText());
  if (const auto* success = std::get_if<BridgeSuccess>(&response.outcome)) {
    read_success(success->response, rest, result);
  } else if (const auto* error = std::get_if<BridgeError>(&response.outcome)) {
    read_failure(failure_of(*error), metadata, rest, result);
  } else {
    read_failure(failure_of(std::get<BridgeTimeout>(response.outcome)), metadata, rest, result);
  }
  result.finish_reason = result.error ? "error" : "stop";
  found ? read_rest(rest, result) : read_plain_metadata(metadata, result);
  record_response(response, result);
  return result;
}

}  // namespace treaty::bridge
