// The envelope around an answer that somebody gives by hand, or a program by a pipe. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/bridge_response.h"

namespace treaty::cli {

enum class GivenStatus { success, error, timeout };

struct GivenAnswer {
  GivenStatus status = GivenStatus::success;
  std::optional<std::string> text{};  // Of a success always; else what there was before it failed.
  std::string error_message{};        // Of a timeout it may be empty.
  std::string error_type{};
  std::string agent{};
  std::string model{};
};

// The refusal says what to do instead. `now` is RFC 3339.
std::expected<contracts::BridgeResponse, std::string> wrap_answer(
    const contracts::BridgeRequest& request, const GivenAnswer& given, const std::string& now);

}  // namespace treaty::cli
