// What a script looks at in a request, whichever wire it came by.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "treaty/backends/call.h"

namespace treaty::backends {

struct OfferedTool {
  std::string name;
  std::string parameters_json{};  // JSON Schema; empty: none given.
};

struct Asked {
  std::string path{};
  std::string model{};
  bool stream = false;
  std::string user_text{};  // Of the last message by the user.
  std::vector<OfferedTool> tools{};
  std::vector<std::string> tool_results{};  // Those that end the request.
  std::string output_schema_json{};  // Of a structured output; "{}" when only JSON is wanted.
  std::size_t prompt_bytes = 0;      // For the estimate of tokens.
};

Asked asked_of(const Call& call);

// As if the call had only its first `messages` messages.
Asked asked_of(const Call& call, std::size_t messages);

}  // namespace treaty::backends
