#include "treaty/bridge/result_record.h"

#include <boost/json/value.hpp>
#include <string_view>
#include <utility>

#include "treaty/base/json_dynamic.h"

namespace treaty::bridge {
namespace {

using boost::json::object;
using contracts::AgentResult;
using contracts::BridgeError;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;
using contracts::BridgeTimeout;

constexpr std::string_view kRecord = "bridge";
constexpr std::string_view kSuccess = "success";
constexpr std::string_view kError = "error";
constexpr std::string_view kTimeout = "timeout";
constexpr std::string_view kStatus = "status";
constexpr std::string_view kErrorMessage = "error_message";
constexpr std::string_view kErrorType = "error_type";
constexpr std::string_view kResponse = "response";
constexpr std::string_view kMetadata = "metadata";

// A failure without a text is told, since its result may have a content nevertheless.
void record_failure(object& record, const std::string& message,
                    const std::optional<std::string>& text) {
  record[kErrorMessage] = message;
  if (!text) record[kResponse] = nullptr;
}

void record_outcome(object& record, const BridgeSuccess&) { record[kStatus] = kSuccess; }

void record_outcome(object& record, const BridgeError& error) {
  record[kStatus] = kError;
  record_failure(record, error.error_message, error.response);
  if (error.error_type) record[kErrorType] = *error.error_type;
}

void record_outcome(object& record, const BridgeTimeout& timeout) {
  record[kStatus] = kTimeout;
  record_failure(record, timeout.error_message, timeout.response);
}

std::optional<std::string> find_text(const object& record, std::string_view name) {
  const auto* value = record.if_contains(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

std::optional<double> find_number(const object& record, std::string_view name) {
  const auto* value = record.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

std::optional<decltype(BridgeResponse::outcome)> recorded_outcome(const object& record,
                                                                  const AgentResult& result) {
  const auto status = find_text(record, kStatus);
  if (status == kSuccess) return BridgeSuccess{text_of_success(result)};
  const auto message = find_text(record, kErrorMessage);
  if (!message) return std::nullopt;
  const auto text = record.contains(kResponse) ? std::nullopt : result.content;
  if (status == kError) return BridgeError{*message, find_text(record, kErrorType), text};
  if (status == kTimeout) return BridgeTimeout{*message, text};
  return std::nullopt;
}

}  // namespace

std::string text_of(const object& value) {
  json::Writer writer;
  json::write(writer, value);
  return writer.take();
}

std::string text_of_success(const AgentResult& result) {
  if (result.content) return *result.content;
  return result.output ? text_of(*result.output) : std::string();
}

void record_response(const BridgeResponse& response, AgentResult& result) {
  object record;
  record["request_id"] = response.request_id;
  record["version"] = response.version;
  std::visit([&](const auto& outcome) { record_outcome(record, outcome); }, response.outcome);
  record["created_at"] = response.created_at;
  record["duration_seconds"] = response.duration_seconds;
  record[kMetadata] = response.metadata;
  if (!result.metadata) result.metadata.emplace();
  result.metadata->insert_or_assign(kRecord, std::move(record));
}

std::optional<BridgeResponse> recorded_response(const AgentResult& result) {
  const auto* value = result.metadata ? result.metadata->if_contains(kRecord) : nullptr;
  const object* record = value == nullptr ? nullptr : value->if_object();
  if (record == nullptr) return std::nullopt;
  auto request_id = find_text(*record, "request_id");
  auto version = find_text(*record, "version");
  auto outcome = recorded_outcome(*record, result);
  auto created_at = find_text(*record, "created_at");
  const auto duration = find_number(*record, "duration_seconds");
  const auto* metadata = record->if_contains(kMetadata);
  if (!request_id || !version || !outcome || !created_at || !duration || metadata == nullptr ||
      !metadata->is_object()) {
    return std::nullopt;
  }
  return BridgeResponse{.request_id = *std::move(request_id),
                        .version = *std::move(version),
                        .outcome = *std::move(outcome),
                        .created_at = *std::move(created_at),
                        .duration_seconds = *duration,
                        .metadata = metadata->get_object()};
}

}  // namespace treaty::bridge
