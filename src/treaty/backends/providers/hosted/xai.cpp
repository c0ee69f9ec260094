// xAI.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider xai() {
  return {
      .name = "xai",
      .base_url = "https://api.x.ai/v1",
      .base_url_variables = {"XAI_BASE_URL"},
      .key = {.environment_variables = {"XAI_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&responses()},
      .style = {.max_tokens_name = "max_completion_tokens"},
  };
}

}  // namespace treaty::backends::providers
