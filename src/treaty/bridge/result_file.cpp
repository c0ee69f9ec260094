#include "treaty/bridge/result_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "treaty/base/json.h"
#include "treaty/base/text.h"
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

// The text of a success. Without content it is the output, and without that nothing.
std::string text_of_success(const AgentResult& result) {
  if (result.content) return *result.content;
  return result.output ? result.output->text() : std::string();
}

// A failure without a text is told, since its result may have a content nevertheless.
void record_failure(ObjectText& record, const std::string& message,
                    const std::optional<std::string>& text) {
  record.add("error_message", message);
  if (!text) record.add("response", nullptr);
}

void record_outcome(ObjectText& record, const BridgeSuccess&) { record.add("status", "success"); }

void record_outcome(ObjectText& record, const BridgeError& error) {
  record.add("status", "error");
  record_failure(record, error.error_message, error.response);
  if (error.error_type) record.add("error_type", *error.error_type);
}

void record_outcome(ObjectText& record, const BridgeTimeout& timeout) {
  record.add("status", "timeout");
  record_failure(record, timeout.error_message, timeout.response);
}

std::optional<decltype(BridgeResponse::outcome)> recorded_outcome(const ObjectText& record,
                                                                  const AgentResult& result) {
  const auto status = record.find_text("status");
  if (status == "success") return BridgeSuccess{text_of_success(result)};
  const auto message = record.find_text("error_message");
  if (!message) return std::nullopt;
  const auto text = record.contains("response") ? std::nullopt : result.content;
  if (status == "error") return BridgeError{*message, record.find_text("error_type"), text};
  if (status == "timeout") return BridgeTimeout{*message, text};
  return std::nullopt;
}

// What a result remembers of the response that it was read from, `metadata.bridge`: everything but
// the text, which the result has itself.
void record_response(const BridgeResponse& response, AgentResult& result) {
  ObjectText record = {{"request_id", response.request_id}, {"version", response.version}};
  std::visit([&](const auto& outcome) { record_outcome(record, outcome); }, response.outcome);
  record.add("created_at", response.created_at);
  record.add("duration_seconds", response.duration_seconds);
  record.add("metadata", response.metadata);
  if (!result.metadata) result.metadata.emplace();
  result.metadata->set("bridge", std::move(record));
}

// Nothing when there is none, or when somebody has changed it.
std::optional<BridgeResponse> recorded_response(const AgentResult& result) {
  const auto record = result.metadata ? result.metadata->find_object("bridge") : std::nullopt;
  if (!record) return std::nullopt;
  auto request_id = record->find_text("request_id");
  auto version = record->find_text("version");
  auto outcome = recorded_outcome(*record, result);
  auto created_at = record->find_text("created_at");
  const auto duration = record->find_number("duration_seconds");
  auto metadata = record->find_object("metadata");
  if (!request_id || !version || !outcome || !created_at || !duration || !metadata) {
    return std::nullopt;
  }
  return BridgeResponse{.request_id = *std::move(request_id),
                        .version = *std::move(version),
                        .outcome = *std::move(outcome),
                        .created_at = *std::move(created_at),
                        .duration_seconds = *duration,
                        .metadata = *std::move(metadata)};
}

// BRS-08 wants a message for people, where a backend may have had none.
std::string_view message_in_place_of_none(bool timeout) {
  return timeout ? "the agent did not answer in time, and said no more"
                 : "the agent failed and did not say why";
}

bool is_timeout(const AgentError& error) { return error.code == "timeout"; }

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
  if (is_blank(error.message)) rest.add("message", error.message);
  if (!error.code) rest.add("code", nullptr);
  put(rest, "type", error.type);
  return rest;
}

// `content: null` says that the text of the response is no content. A failure has no text in the
// envelope (BRS-08), so what there was of it is here.
void put_texts(ObjectText& rest, const AgentResult& result) {
  const bool is_text_of_response = !result.error && !result.content;
  if (is_text_of_response) rest.add("content", nullptr);
  if (result.error) put(rest, "content", result.content);
  if (!is_text_of_response) put(rest, "output", result.output);
}

json::ValueText rest_of(const AgentResult& result) {
  ObjectText rest;
  put_texts(rest, result);
  rest.add("finish_reason", nullptr);
  if (result.finish_reason) rest.set("finish_reason", *result.finish_reason);
  if (result.error) rest.add("error", rest_of(*result.error));
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
  put_unless_empty(metadata, "model", data.find_text("model").value_or(answered_by.model));
  put(metadata, "provider_request_id", data.find_text("request_id"));
  if (result.usage) {
    put(metadata, "input_tokens", result.usage->input_tokens);
    put(metadata, "output_tokens", result.usage->output_tokens);
  }
  if (result.error) {
    put(metadata, "retryable", result.error->retryable);
    put(metadata, "status_code", result.error->status_code);
  }
  metadata.add("agent_result", rest_of(result));
  return metadata;
}

// The rest of the result, if it is one of ours: an object, or the text of one.
std::optional<ObjectText> find_rest(const ObjectText& metadata) {
  if (auto rest = metadata.find_object("agent_result")) return rest;
  const auto text = metadata.find_text("agent_result");
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
  result.output = rest.find_object("output");
  result.content = text;
  if (!is_null(rest, "content") || result.output) return;
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
  const bool without_code = rest != nullptr && is_null(*rest, "code");
  if (!error.code && !without_code) error.code = "server_error";
  error.retryable = metadata.find_boolean("retryable");
  if (!error.retryable && rest == nullptr) {
    error.retryable = usually_retryable(*error.code);
  }
  error.status_code = find_integer(metadata, "status_code", 100, 599);
  if (rest == nullptr) return error;
  error.type = rest->find_text("type");
  const auto original = rest->find_text("message");
  if (original && is_blank(*original) &&
      error.message == message_in_place_of_none(is_timeout(error))) {
    error.message = *original;
  }
  return error;
}

void read_failure(const BridgeError& failure, const ObjectText& metadata, const ObjectText& rest,
                  AgentResult& result) {
  result.content = failure.response ? failure.response : rest.find_text("content");
  result.output = rest.find_object("output");
  const auto kept = rest.find_object("error");
  result.error = error_of(failure, metadata, kept ? &*kept : nullptr);
}

// What a stranger's metadata tell by the names that are ours, too.
void read_plain_metadata(const ObjectText& metadata, AgentResult& result) {
  const auto input = find_integer(metadata, "input_tokens", 0, INT64_MAX);
  const auto output = find_integer(metadata, "output_tokens", 0, INT64_MAX);
  if (input || output) result.usage = {.input_tokens = input, .output_tokens = output};
  std::int64_t total = 0;
  if (input && output && !__builtin_add_overflow(*input, *output, &total)) {
    result.usage->total_tokens = total;
  }
  ObjectText data;
  put(data, "model", metadata.find_text("model"));
  put(data, "request_id", metadata.find_text("provider_request_id"));
  if (!data.empty()) result.provider_data = std::move(data);
}

void read_rest(const ObjectText& rest, AgentResult& result) {
  const bool agrees = result.error.has_value() == rest.find_object("error").has_value();
  if (agrees && rest.contains("finish_reason"))
    result.finish_reason = rest.find_text("finish_reason");
  read_parts(rest, result);
  for (const auto& [name, member] : kObjects) {
    if (auto value = rest.find_object(name)) result.*member = *std::move(value);
  }
  result.rendered_user_prompt = rest.find_text("rendered_user_prompt");
}

BridgeError failure_of(const BridgeError& error) { return error; }
BridgeError failure_of(const BridgeTimeout& timeout) {
  return {timeout.error_message, "timeout", timeout.response};
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
