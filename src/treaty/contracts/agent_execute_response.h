// AgentExecuteResponse: everything a client may see of one agent turn (AGN-033; § refers to it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/base/json_write.h"
#include "treaty/contracts/decoded.h"
#include "treaty/contracts/inspection/names.h"
#include "treaty/contracts/tools.h"

namespace treaty::contracts {

class Inspection;
struct Place;

// §6.3. A file is referred to, never embedded.
struct FileRef {
  std::string name;
  std::string mime_type;
  std::string url;  // Absolute http(s), or a path on this server.
  std::int64_t size_bytes = 0;
  std::string content_hash;  // See text/content_hash.h.
  std::optional<std::string> description{};
  std::optional<std::string> content_expires{};  // RFC 3339; absent: it does not expire.
  bool operator==(const FileRef&) const = default;
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t total_tokens = 0;
  std::optional<std::int64_t> cached_tokens{};
  std::optional<std::int64_t> reasoning_tokens{};
  bool operator==(const Usage&) const = default;
};

// §3.4, Kind = final. An absent bucket is not an empty one, hence optional (§3.5).
struct FinalResponse {
  std::string primary_output_text;  // Markdown, shown to the user (§4.1).
  std::optional<std::vector<FileRef>> files{};
  std::optional<std::vector<ToolResult>> tool_results{};  // What the server ran itself.
  std::optional<std::vector<std::string>> user_warnings{};
  std::optional<Usage> usage{};
  bool operator==(const FinalResponse&) const = default;
};

// §3.4, Kind = client_tool_continuation. The client answers every call, in this order.
struct ClientToolContinuation {
  std::vector<ToolCall> tool_calls;                        // One or more.
  std::optional<std::string> tool_continuation_message{};  // Informational (§4.2).
  bool operator==(const ClientToolContinuation&) const = default;
};

struct AgentExecuteResponse {
  std::string session_id;
  std::string turn_id;
  std::string mode_display_name;  // For display alone; nobody branches on it (§3.1).
  std::variant<FinalResponse, ClientToolContinuation> kind;
  bool operator==(const AgentExecuteResponse&) const = default;
};

Decoded<AgentExecuteResponse> decode_agent_execute_response(std::string_view bytes,
                                                            const DecodeOptions& options = {});

std::string encode(const AgentExecuteResponse& response, Dialect dialect = Dialect::pascal);

// The same for a response inside another document.
AgentExecuteResponse inspect_agent_execute_response(Inspection& inspection, const Place& place);
void write(json::Writer& writer, const AgentExecuteResponse& response, Dialect dialect);

}  // namespace treaty::contracts
