// Tool calls (server to client) and tool results (client to server), as both AGN-033 §5 and
// AGN-034 §5 have them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/base/json_write.h"
#include "treaty/contracts/inspection/names.h"

namespace treaty::contracts {

class Inspection;
struct Place;

// AGN-033 §5.1. ArgumentsJson stays the text that the model wrote.
struct ToolCall {
  std::string tool_call_id;
  std::string name;
  std::string arguments_json;
  bool operator==(const ToolCall&) const = default;
};

// AGN-033 §5.2: exactly one of the two, hence a variant. Opaque text: it need not be JSON
// (TOOL-06).
struct ResultJson {
  std::string text;
  bool operator==(const ResultJson&) const = default;
};
struct ErrorMessage {
  std::string text;
  bool operator==(const ErrorMessage&) const = default;
};

struct ToolResult {
  std::string tool_call_id;
  std::int64_t execution_ms = 0;
  std::variant<ResultJson, ErrorMessage> outcome;
  bool operator==(const ToolResult&) const = default;
};

// TOOL-02: 1 to 64 letters, digits, underscores and hyphens.
bool is_tool_name(std::string_view name);

// Which side sent the list: a request forgives null where a response does not.
enum class Sender { client, server };

// TOOL-01, TOOL-02. `array` is an array.
std::vector<ToolCall> inspect_tool_calls(Inspection& inspection, const Place& array);

// TOOL-03 to TOOL-06. `array` is an array.
std::vector<ToolResult> inspect_tool_results(Inspection& inspection, const Place& array,
                                             Sender sender);

void write(json::Writer& writer, const ToolCall& call, Dialect dialect);
void write(json::Writer& writer, const ToolResult& result, Dialect dialect);

}  // namespace treaty::contracts
