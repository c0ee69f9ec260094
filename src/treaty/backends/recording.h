// A recorded exchange with a provider: what was sent, what came back.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/base/error.h"
#include "treaty/base/headers.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/results/prices.h"

namespace treaty::backends {

struct Recording {
  std::string id{};
  std::string provider{};
  const Protocol* protocol = nullptr;  // Null when neither endpoint nor path tells.
  std::string request_path{};
  std::string request_body{};  // JSON text, or empty.
  int status = 200;
  Headers headers{};
  std::string body{};     // As bytes; chunks and compression undone.
  bool streamed = false;  // The body is an event stream.
};

// {"id", "provider", "endpoint", "request": {"method", "path", "body"}, "response": {"status",
// "headers", "body" | "body_sse_text" | "body_sse_base64"}}.
std::expected<Recording, Error> read_recording(std::string_view json);

contracts::AgentResult normalize(const Recording& recording,
                                 const results::PriceTable* prices = nullptr);

}  // namespace treaty::backends
