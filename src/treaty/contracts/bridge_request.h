// `.agent-request.json`: what a program that needs an agent writes before it leaves with 42.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/json_text.h"
#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

struct BridgeRequest {
  std::string request_id;
  std::string version;
  std::string agent_name;
  std::string prompt;
  std::string created_at;  // RFC 3339.
  std::optional<std::int64_t> phase{};
  std::optional<std::string> phase_name{};
  std::int64_t timeout_seconds = 120;
  json::ObjectText context{};
  std::optional<std::string> model{};
  std::optional<std::string> response_file{};
  bool operator==(const BridgeRequest&) const = default;
};

Decoded<BridgeRequest> decode_bridge_request(std::string_view bytes,
                                             const DecodeOptions& options = {});

// Indented, as the file is written.
std::string encode(const BridgeRequest& request);

}  // namespace treaty::contracts
