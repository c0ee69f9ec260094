#include "treaty/cli/bridge/envelope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::cli {
namespace {

constexpr double kMilliseconds = 1000;  // In a second; finer than that is noise.
constexpr const char* kTimeoutType = "timeout";

bool is_envelope(const std::string& text) {
  const json::Document document(text);
  const auto root = document.root();
  return json::find_member(root, "request_id") && json::find_member(root, "status");
}

decltype(contracts::BridgeResponse::outcome) outcome_of(const contracts::BridgeRequest& request,
                                                        const GivenAnswer& given) {
  if (given.status == GivenStatus::success)
    return contracts::BridgeSuccess{given.text.value_or("")};
  // BRS-08: an error of the type timeout is a timeout.
  if (given.status == GivenStatus::timeout || given.error_type == kTimeoutType) {
    return contracts::BridgeTimeout{
        .error_message = given.error_message.empty()
                             ? fmt::format("no answer within {} s", request.timeout_seconds)
                             : given.error_message,
        .response = given.text};
  }
  contracts::BridgeError error{.error_message = given.error_message, .response = given.text};
  if (!given.error_type.empty()) error.error_type = given.error_type;
  return error;
}

json::ObjectText metadata_of(const GivenAnswer& given) {
  json::ObjectText metadata;
  if (!given.agent.empty()) metadata.add("agent", given.agent);
  if (!given.model.empty()) metadata.add("model", given.model);
  const auto type = given.text ? json::type_of_json(*given.text) : std::nullopt;
  if (type == json::Type::object || type == json::Type::array) {
    metadata.add("content_type", "application/json");
  }
  metadata.add("answered_by", "treaty bridge respond");
  return metadata;
}

// Nothing, or why the text cannot be an answer.
std::string refusal_of(const std::string& text) {
  if (!is_utf8(text)) return "the answer is not UTF-8; convert it, for example with iconv";
  if (is_envelope(text)) {
    return "the answer has its envelope already (request_id, status), and this command writes the "
           "envelope; give it the text alone, for example with jq -r .response";
  }
  return {};
}

}  // namespace

std::expected<contracts::BridgeResponse, std::string> wrap_answer(
    const contracts::BridgeRequest& request, const GivenAnswer& given, const std::string& now) {
  if (given.text) {
    if (std::string refusal = refusal_of(*given.text); !refusal.empty()) {
      return std::unexpected(std::move(refusal));
    }
  }
  const double asked = seconds_of_timestamp(request.created_at).value_or(0);
  const double answered = seconds_of_timestamp(now).value_or(0);
  contracts::BridgeResponse response{
      .request_id = request.request_id,
      .outcome = outcome_of(request, given),
      // A clock that is behind the asker's must not make the answer a stale one.
      .created_at = answered < asked ? request.created_at : now,
      .duration_seconds =
          std::max(std::round((answered - asked) * kMilliseconds) / kMilliseconds, 0.0),
      .metadata = metadata_of(given)};
  const auto verdict = contracts::decode_bridge_response(contracts::encode(response),
                                                         {.request_id = request.request_id});
  if (verdict) return response;
  const contracts::Finding& first = verdict.error().front();
  return std::unexpected(fmt::format("the answer would break its contract: {} {}: {}{}",
                                     first.rule.text(), first.where, first.message,
                                     first.hint.empty() ? "" : "; " + first.hint));
}

}  // namespace treaty::cli
