// The parts of an AgentResult: usage, cost, error, rate limits, provider data, tool calls.
#pragma once

#include <variant>

#include "treaty/base/json_write.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {

AgentError inspect_agent_error(Inspection& inspection, const Place& place);               // RLT-05.
UsageInfo inspect_usage_info(Inspection& inspection, const Place& place);                 // RLT-06.
std::variant<double, CostInfo> inspect_cost(Inspection& inspection, const Place& place);  // RLT-07.
RateLimitState inspect_rate_limit(Inspection& inspection, const Place& place);  // RLT-08, RLT-09.
void inspect_provider_members(Inspection& inspection, const Place& provider_data);  // RLT-10.

// Nothing when it has another shape.
std::optional<std::vector<AgentToolCall>> read_agent_tool_calls(json::Value value);

void write(json::Writer& writer, const AgentError& error);
void write(json::Writer& writer, const UsageInfo& usage);
void write(json::Writer& writer, const std::variant<double, CostInfo>& cost);
void write(json::Writer& writer, const RateLimitState& state);
void write(json::Writer& writer, const std::vector<AgentToolCall>& calls);

}  // namespace treaty::contracts
