// Cerebras: Chat Completions behind a bearer key. Only what differs is here.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider cerebras() {
  return {
      .name = "cerebras",
      .base_url = "https://api.cerebras.ai/v1",
      .base_url_variables = {"CEREBRAS_BASE_URL"},
      .key = {.environment_variables = {"CEREBRAS_API_KEY"}},
      .protocol = &chat_completions(),
      .style = {.max_tokens_name = "max_completion_tokens"},
  };
}

}  // namespace treaty::backends::providers
