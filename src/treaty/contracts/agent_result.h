// AgentResult: every backend's answer in one shape, failures included. Errors are data here, and
// `raw` never leaves the process, so the type does not have it (RLT-02). decode_agent_result.h
// reads one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "treaty/base/json_text.h"
#include "treaty/base/number.h"

namespace treaty::contracts {

struct AgentError {
  std::string message;
  std::optional<std::string> code{};  // One of the known eight, mostly.
  std::optional<std::string> type{};  // The provider's own name for it.
  std::optional<std::int64_t> status_code{};
  std::optional<bool> retryable{};
  bool operator==(const AgentError&) const = default;
};

struct UsageInfo {
  std::optional<std::int64_t> input_tokens{};
  std::optional<std::int64_t> output_tokens{};
  std::optional<std::int64_t> total_tokens{};
  std::optional<std::int64_t> cache_read_tokens{};
  std::optional<std::int64_t> cache_write_tokens{};
  std::optional<std::int64_t> api_calls{};
  bool operator==(const UsageInfo&) const = default;
};

struct CostInfo {
  std::optional<double> input{};
  std::optional<double> output{};
  std::optional<double> cache_read{};
  std::optional<double> cache_write{};
  std::optional<double> total{};
  bool operator==(const CostInfo&) const = default;
};

struct RateLimitWindow {
  std::string name;
  std::string resource;
  std::optional<Number> remaining{};
  std::optional<Number> limit{};
  std::optional<Number> resets_in{};  // Seconds.
  std::optional<Number> reset_at{};   // Seconds since 1970.
  bool operator==(const RateLimitWindow&) const = default;
};

struct RateLimitState {
  bool limited = false;
  std::optional<Number> retry_after{};  // Seconds.
  std::vector<RateLimitWindow> windows{};
  bool operator==(const RateLimitState&) const = default;
};

// A tool call as a model made it; `arguments` is the JSON text that it wrote.
struct AgentToolCall {
  std::string id;
  std::string name;
  std::string arguments;
  bool operator==(const AgentToolCall&) const = default;
};

struct AgentResult {
  std::optional<json::ObjectText> output{};
  std::optional<std::string> content{};
  std::optional<UsageInfo> usage{};
  std::optional<std::variant<double, CostInfo>> cost{};  // A total, or its parts.
  std::optional<json::ObjectText> metadata{};
  std::optional<std::string> finish_reason{};
  std::optional<AgentError> error{};
  std::optional<RateLimitState> rate_limit{};
  std::optional<json::ObjectText> provider_data{};
  std::optional<std::vector<AgentToolCall>> tool_calls{};
  std::optional<std::string> rendered_user_prompt{};

  bool success() const { return !error; }  // RLT-11.
  bool operator==(const AgentResult&) const = default;
};

// Of all its texts that may be large.
std::size_t text_bytes(const AgentResult& result);

std::string encode(const AgentResult& result);
enum class Content { written, left_out };  // Left out: whoever writes it has it elsewhere.
void write(json::Writer& writer, const AgentResult& result, Content content = Content::written);

// Parts of it, for those who print them alone.
std::string encode(const RateLimitState& state);
std::string encode(const AgentError& error);

}  // namespace treaty::contracts
