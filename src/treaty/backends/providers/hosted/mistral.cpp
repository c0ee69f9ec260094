// Mistral. Streams tell usage unasked; ids of tool calls are nine letters or digits.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider mistral() {
  return {
      .name = "mistral",
      .base_url = "https://api.mistral.ai/v1",
      .base_url_variables = {"MISTRAL_BASE_URL"},
      .key = {.environment_variables = {"MISTRAL_API_KEY"}},
      .protocol = &chat_completions(),
      .style = {.stream_usage = false, .short_tool_call_ids = true},
  };
}

}  // namespace treaty::backends::providers
