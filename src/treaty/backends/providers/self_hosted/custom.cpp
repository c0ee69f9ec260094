// Any server that speaks one of the protocols: the user says where, and which.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider custom() {
  return {
      .name = "custom",
      .base_url_variables = {"CUSTOM_BASE_URL"},
      .key = {.environment_variables = {"CUSTOM_API_KEY"}, .header = "", .required = false},
      .protocol = &chat_completions(),
      .also_speaks = {&completions(), &responses(), &anthropic_messages(), &backends::gemini(),
                      &ollama_native()},
  };
}

}  // namespace treaty::backends::providers
