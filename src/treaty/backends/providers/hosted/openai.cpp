// OpenAI. Chat Completions by default, since that is what stands behind most OPENAI_BASE_URLs.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider openai() {
  return {
      .name = "openai",
      .base_url = "https://api.openai.com/v1",
      .base_url_variables = {"OPENAI_BASE_URL"},
      .key = {.environment_variables = {"OPENAI_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&responses(), &completions()},
      .style = {.max_tokens_name = "max_completion_tokens"},
  };
}

}  // namespace treaty::backends::providers
