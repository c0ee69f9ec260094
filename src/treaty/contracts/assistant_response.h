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

// What is foreign to the contract is refused when options.role is producer, and dropped with a
// warning when it is consumer (ARL-02).
Decoded<AssistantResponse> decode_assistant_response(std::string_view bytes,
                                                     const DecodeOptions& options = {});

std::string encode(const AssistantResponse& response);

std::string_view name_of(ConfidenceLevel level);

}  // namespace treaty::contracts
