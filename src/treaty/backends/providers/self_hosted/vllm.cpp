// vLLM, where it serves by default. A key is only needed when the server was given one.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider vllm() {
  return {
      .name = "vllm",
      .base_url = "http://localhost:8000/v1",
      .base_url_variables = {"VLLM_BASE_URL"},
      .key = {.environment_variables = {"VLLM_API_KEY"}, .required = false},
      .protocol = &chat_completions(),
      .also_speaks = {&responses(), &completions()},
  };
}

}  // namespace treaty::backends::providers
