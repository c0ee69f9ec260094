#include "treaty/results/agent_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "treaty/base/json_write.h"
#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/results/errors.h"

namespace treaty::results {
namespace {

using contracts::AgentError;
using contracts::AgentResult;

using Reason = std::pair<std::string_view, std::string_view>;

// What is not here is `stop`. Letters count without regard to their case: Gemini shouts.
constexpr std::array kReasons = std::to_array<Reason>({
    {"length", "length"},
    {"max_tokens", "length"},
    {"max_output_tokens", "length"},
    {"model_length", "length"},
    {"model_context_window_exceeded", "length"},
    {"tool_calls", "tool_use"},
    {"tool_use", "tool_use"},
    {"function_call", "tool_use"},
    {"content_filter", "content_filter"},
    {"refusal", "content_filter"},
    {"safety", "content_filter"},
    {"recitation", "content_filter"},
    {"prohibited_content", "content_filter"},
    {"blocklist", "content_filter"},
    {"spii", "content_filter"},
    {"model_armor", "content_filter"},
    {"image_safety", "content_filter"},
    {"error", "error"},
    {"failed", "error"},
    {"malformed_function_call", "error"},
    {"unexpected_tool_call", "error"},
    {"cancelled", "aborted"},
    {"aborted", "aborted"},
});

// Names whose values let somebody in.
bool is_secret_header(std::string_view name) {
  if (name.starts_with("x-ratelimit-") || name.starts_with("content-")) return false;  // Most.
  constexpr std::array<std::string_view, 5> kWords = {"authorization", "cookie", "api-key",
                                                      "apikey", "secret"};
  return name.ends_with("auth-token") || name.ends_with("access-token") ||
         name.ends_with("subscription-key") || name.ends_with("security-token") ||
         std::ranges::any_of(kWords, [&](auto word) { return name.contains(word); });
}

bool leaks(const Exchange& exchange, std::string_view value) {
  return exchange.known_secret.size() >= 6 && value.contains(exchange.known_secret);
}

void write_headers(json::Writer& writer, const Exchange& exchange) {
  writer.begin_object();
  for (const auto& [name, value] : exchange.headers) {
    if (is_secret_header(name) || leaks(exchange, name)) continue;
    // Header bytes need not be UTF-8; a result is.
    const bool readable = !leaks(exchange, value) && is_utf8(value);
    writer.member(name, readable ? std::string_view(value) : std::string_view("***"));
  }
  writer.end_object();
}

std::string_view request_id(const Exchange& exchange) {
  for (const std::string_view name : {"x-request-id", "request-id", "apim-request-id"}) {
    const std::string* id = exchange.headers.find(name);
    if (id != nullptr && is_utf8(*id) && !leaks(exchange, *id)) return *id;
  }
  return {};
}

json::ObjectText provider_data(const Exchange& exchange, std::string_view model,
                               std::string_view finish_reason_raw) {
  json::Writer writer;
  writer.begin_object().member("provider", exchange.provider);
  if (!model.empty() && !leaks(exchange, model)) writer.member("model", model);
  if (const auto id = request_id(exchange); !id.empty()) writer.member("request_id", id);
  if (!exchange.headers.empty()) write_headers(writer.name("raw_headers"), exchange);
  if (!finish_reason_raw.empty() && !leaks(exchange, finish_reason_raw)) {
    writer.member("finish_reason_raw", finish_reason_raw);
  }
  return json::ObjectText::written(writer.end_object());
}

// Absent when nobody said anything about limits.
void set_rate_limit(AgentResult& result, const Exchange& exchange, std::optional<int> status,
                    std::string_view error_body) {
  auto state = read_rate_limits({.headers = exchange.headers,
                                 .status = status,
                                 .body = error_body,
                                 .now = exchange.now,
                                 .plain = exchange.plain_limits,
                                 .failed = !error_body.empty()});
  if (state.limited || state.retry_after || !state.windows.empty()) {
    result.rate_limit = std::move(state);
  }
}

void set_cost(AgentResult& result, const Exchange& exchange, const Answer& answer) {
  if (answer.cost) {
    result.cost = *answer.cost;
    return;
  }
  if (exchange.prices == nullptr || !answer.usage || answer.model.empty()) return;
  const auto date = seconds_of_http_date(exchange.headers.get("date"));
  const auto at = date ? date : exchange.now;
  if (!at) return;
  if (const auto price = exchange.prices->find(exchange.provider, answer.model, *at)) {
    result.cost = cost_of(*answer.usage, *price);
  }
}

// Callers answer tool calls by id: one that came without gets its place for a name.
void name_tool_calls(std::vector<contracts::AgentToolCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].arguments.empty()) calls[i].arguments = "{}";
    if (!calls[i].id.empty()) continue;
    std::string id = fmt::format("call_{}", i + 1);
    while (std::ranges::find(calls, id, &contracts::AgentToolCall::id) != calls.end()) id += "_";
    calls[i].id = std::move(id);
  }
}

void set_output(AgentResult& result) {
  if (result.content) result.output = json::ObjectText::parse(*result.content);
}

AgentError server_error(std::string type, std::string message) {
  return {.message = std::move(message),
          .code = "server_error",
          .type = std::move(type),
          .retryable = true};
}

// Why a success is none: an error inside it, an end that never came, a model that gave up.
std::optional<AgentError> error_in(const Exchange& exchange, const Answer& answer,
                                   std::string_view finish_reason) {
  if (!answer.error_body.empty()) {
    return classify_error({.status = exchange.status,
                           .headers = exchange.headers,
                           .body = answer.error_body,
                           .known_secret = exchange.known_secret});
  }
  std::optional<AgentError> error;
  if (!answer.complete) {
    error = server_error("IncompleteAnswer", "the answer ended before it was complete");
  } else if (finish_reason == "error") {
    error =
        server_error(answer.finish_reason_raw, "the model ended with " + answer.finish_reason_raw);
  }
  if (error) override_retryable(*error, exchange.headers);
  return error;
}

AgentResult failed(const Exchange& exchange, AgentError error, std::string_view finish_reason,
                   std::string_view body) {
  AgentResult result;
  result.finish_reason = std::string(finish_reason);
  result.error = std::move(error);
  result.provider_data = provider_data(exchange, {}, {});
  set_rate_limit(result, exchange, exchange.status, body);
  return result;
}

}  // namespace

std::string_view finish_reason_of(const Answer& answer) {
  if (answer.prompt_blocked) return "content_filter";
  const auto known = std::ranges::find_if(kReasons, [&](const Reason& reason) {
    return equal_folded(reason.first, answer.finish_reason_raw);
  });
  if (known != kReasons.end()) return known->second;
  if (!answer.tool_calls.empty()) return "tool_use";
  return answer.refusal.empty() ? "stop" : "content_filter";
}

AgentResult result_of_answer(const Exchange& exchange, Answer answer) {
  AgentResult result;
  // Nobody can answer a call without a name.
  std::erase_if(answer.tool_calls, [](const auto& call) { return call.name.empty(); });
  std::string_view finish_reason = finish_reason_of(answer);
  result.error = error_in(exchange, answer, finish_reason);
  if (result.error) finish_reason = "error";
  result.finish_reason = std::string(finish_reason);
  result.provider_data = provider_data(exchange, answer.model, answer.finish_reason_raw);
  set_rate_limit(result, exchange,
                 result.error && result.error->status_code
                     ? static_cast<int>(*result.error->status_code)
                     : exchange.status,
                 answer.error_body);
  result.usage = answer.usage;
  set_cost(result, exchange, answer);
  if (!answer.refusal.empty() && finish_reason == "content_filter") {
    answer.content = std::move(answer.refusal);
  }
  if (!answer.content.empty() || answer.tool_calls.empty()) {
    result.content = std::move(answer.content);
  }
  // Half a call must not be run.
  if (!answer.tool_calls.empty() && answer.complete && answer.error_body.empty()) {
    name_tool_calls(answer.tool_calls);
    result.tool_calls = std::move(answer.tool_calls);
  }
  if (exchange.wants_output && !result.error) set_output(result);
  return result;
}

AgentResult result_of_failure(const Exchange& exchange, std::string_view body) {
  return failed(exchange,
                classify_error({.status = exchange.status,
                                .headers = exchange.headers,
                                .body = body,
                                .known_secret = exchange.known_secret}),
                "error", body);
}

AgentResult result_of_error(const Exchange& exchange, AgentError error,
                            std::string_view finish_reason) {
  return failed(exchange, std::move(error), finish_reason, {});
}

}  // namespace treaty::results
