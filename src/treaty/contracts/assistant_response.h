// Assistant Response Contract v1: six members for a user interface, closed and frozen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/decoded.h"

namespace treaty::contracts {

enum class ConfidenceLevel { high, medium, low };

struct AssistantResponse {
  std::string assistant_message;
  std::string action_taken;
  std::vector<std::string> next_steps{};
  ConfidenceLevel confidence_level = ConfidenceLevel::medium;
  std::string trace_id;
  bool operator==(const AssistantResponse&) const = default;
};

// The fallbacks of the contract for a text that is missing or cannot be used.
inline constexpr std::string_view kMessageFallback = "I processed your request.";
inline constexpr std::string_view kActionFallback = "Processed request.";

// What is foreign to the contract is refused when options.role is producer, and dropped with a
// warning when it is consumer (ARL-02). For a producer the lenient profile puts the fallback of the
// contract in the place of each member that is missing or cannot be used; a trace_id is new then.
Decoded<AssistantResponse> decode_assistant_response(std::string_view bytes,
                                                     const DecodeOptions& options = {});

std::string encode(const AssistantResponse& response);

std::string_view name_of(ConfidenceLevel level);

}  // namespace treaty::contracts
