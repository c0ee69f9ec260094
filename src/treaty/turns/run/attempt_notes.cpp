#include "treaty/turns/run/attempt_notes.h"

#include <algorithm>
#include <cmath>

#include "treaty/base/json_write.h"
#include "treaty/results/prices.h"

namespace treaty::turns {
namespace {

using contracts::AgentResult;
using dispatch::Choice;

json::Writer begin(const Choice& choice) {
  json::Writer writer;
  writer.begin_object().member("Backend", choice.backend).member("Model", choice.model);
  return writer;
}

std::int64_t milliseconds(dispatch::Seconds seconds) {
  return static_cast<std::int64_t>(std::clamp(std::ceil(seconds * 1'000), 0.0, 1e15));
}

void write_spent(json::Writer& writer, const AgentResult& result) {
  if (const auto& usage = result.usage) {
    if (usage->input_tokens) writer.member("InputTokens", *usage->input_tokens);
    if (usage->output_tokens) writer.member("OutputTokens", *usage->output_tokens);
  }
  const auto cost = results::dollars_of(result);
  if (cost && std::isfinite(*cost)) writer.member("Cost", *cost);
}

}  // namespace

std::string backend_data(const Choice& choice) { return begin(choice).end_object().take(); }

std::string started_data(const Choice& choice, int attempt) {
  return begin(choice).member("Attempt", attempt).end_object().take();
}

std::string ended_data(const Choice& choice, int attempt, dispatch::Seconds took,
                       const AgentResult& result) {
  json::Writer writer = begin(choice);
  writer.member("Attempt", attempt).member("Milliseconds", milliseconds(took));
  if (result.error) {
    const auto& error = *result.error;
    writer.member("ErrorCode", error.code.value_or("aborted"));
    if (error.status_code) writer.member("Status", *error.status_code);
    writer.member("Retryable", error.retryable.value_or(false));
  } else if (result.finish_reason) {
    writer.member("FinishReason", *result.finish_reason);
  }
  if (const auto& data = result.provider_data) {
    const auto* id = data->if_contains("request_id");
    if (id != nullptr && id->is_string()) {
      writer.member("RequestId", std::string_view(id->get_string()));
    }
  }
  write_spent(writer, result);
  return writer.end_object().take();
}

std::string waiting_data(const Choice& choice, dispatch::Seconds wait, std::string_view reason) {
  const double seconds = static_cast<double>(milliseconds(wait)) / 1'000;
  json::Writer writer = begin(choice);
  if (wait > 0) writer.member("Seconds", seconds);
  return writer.member("Reason", reason).end_object().take();
}

std::string given_up_data(const Choice& choice, std::string_view reason) {
  return begin(choice).member("Reason", reason).end_object().take();
}

std::string switched_data(const Choice& from, const Choice& to, std::string_view reason) {
  json::Writer writer;
  writer.begin_object().member("From", from.backend).member("FromModel", from.model);
  writer.member("To", to.backend).member("ToModel", to.model).member("Reason", reason);
  return writer.end_object().take();
}

}  // namespace treaty::turns
