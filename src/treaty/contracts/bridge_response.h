// `.agent-response.json`: the answer to a bridge request, in nine members, all of them always
// there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "treaty/base/json_text.h"
#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

// BRS-07. The text is opaque; JSON inside is a second step (BRS-13).
struct BridgeSuccess {
  std::string response;
  bool operator==(const BridgeSuccess&) const = default;
};

// BRS-08.
struct BridgeError {
  std::string error_message;
  std::optional<std::string> error_type{};
  std::optional<std::string> response{};  // What there was before it failed; a warning.
  bool operator==(const BridgeError&) const = default;
};

// Told by status timeout, or by status error with error_type timeout (BRS-08).
struct BridgeTimeout {
  std::string error_message;
  std::optional<std::string> response{};
  bool operator==(const BridgeTimeout&) const = default;
};

struct BridgeResponse {
  std::string request_id;
  std::string version = "1.0";
  std::variant<BridgeSuccess, BridgeError, BridgeTimeout> outcome;
  std::string created_at;  // ISO 8601 with a zone.
  double duration_seconds = 0;
  json::ObjectText metadata{};
  bool operator==(const BridgeResponse&) const = default;
};

Decoded<BridgeResponse> decode_bridge_response(std::string_view bytes,
                                               const DecodeOptions& options = {});

// Whether a JSON document is an object with nothing of an envelope: an agent's own output (BRS-14).
bool is_bare_output(std::string_view bytes);

// Whether two request_ids are the same id: equal, or UUIDs that differ only in letter case.
bool is_same_request_id(std::string_view one, std::string_view other);

// Indented, as the file is written. A timeout is written as status timeout, error_type timeout.
std::string encode(const BridgeResponse& response);

}  // namespace treaty::contracts
