#include "treaty/bridge/result_record.h"

#include <string_view>
#include <utility>

namespace treaty::bridge {
namespace {

using contracts::AgentResult;
using contracts::BridgeError;
using contracts::BridgeResponse;
using contracts::BridgeSuccess;
using contracts::BridgeTimeout;
using json::ObjectText;

constexpr std::string_view kRecord = "bridge";
constexpr std::string_view kSuccessStatus = "success";
constexpr std::string_view kErrorStatus = "error";
constexpr std::string_view kTimeoutStatus = "timeout";
constexpr std::string_view kStatus = "status";
constexpr std::string_view kErrorMessage = "error_message";
constexpr std::string_view kErrorType = "error_type";
constexpr std::string_view kResponseText = "response";
constexpr std::string_view kMetadata = "metadata";

// A failure without a text is told, since its result may have a content nevertheless.
void record_failure(ObjectText& record, const std::string& message,
                    const std::optional<std::string>& text) {
  record.add(kErrorMessage, message);
  if (!text) record.add(kResponseText, nullptr);
}

void record_outcome(ObjectText& record, const BridgeSuccess&) {
  record.add(kStatus, kSuccessStatus);
}

void record_outcome(ObjectText& record, const BridgeError& error) {
  record.add(kStatus, kErrorStatus);
  record_failure(record, error.error_message, error.response);
  if (error.error_type) record.add(kErrorType, *error.error_type);
}

void record_outcome(ObjectText& record, const BridgeTimeout& timeout) {
  record.add(kStatus, kTimeoutStatus);
  record_failure(record, timeout.error_message, timeout.response);
}

std::optional<decltype(BridgeResponse::outcome)> recorded_outcome(const ObjectText& record,
                                                                  const AgentResult& result) {
  const auto status = record.find_text(kStatus);
  if (status == kSuccessStatus) return BridgeSuccess{text_of_success(result)};
  const auto message = record.find_text(kErrorMessage);
  if (!message) return std::nullopt;
  const auto text = record.contains(kResponseText) ? std::nullopt : result.content;
  if (status == kErrorStatus) return BridgeError{*message, record.find_text(kErrorType), text};
  if (status == kTimeoutStatus) return BridgeTimeout{*message, text};
  return std::nullopt;
}

}  // namespace

std::string text_of_success(const AgentResult& result) {
  if (result.content) return *result.content;
  return result.output ? result.output->text() : std::string();
}

void record_response(const BridgeResponse& response, AgentResult& result) {
  ObjectText record = {{"request_id", response.request_id}, {"version", response.version}};
  std::visit([&](const auto& outcome) { record_outcome(record, outcome); }, response.outcome);
  record.add("created_at", response.created_at);
  record.add("duration_seconds", response.duration_seconds);
  record.add(kMetadata, response.metadata);
  if (!result.metadata) result.metadata.emplace();
  result.metadata->set(kRecord, std::move(record));
}

std::optional<BridgeResponse> recorded_response(const AgentResult& result) {
  const auto record = result.metadata ? result.metadata->find_object(kRecord) : std::nullopt;
  if (!record) return std::nullopt;
  auto request_id = record->find_text("request_id");
  auto version = record->find_text("version");
  auto outcome = recorded_outcome(*record, result);
  auto created_at = record->find_text("created_at");
  const auto duration = record->find_number("duration_seconds");
  auto metadata = record->find_object(kMetadata);
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

}  // namespace treaty::bridge
