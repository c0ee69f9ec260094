// OpenRouter: many providers behind one key. It tells the cost of a call itself.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider openrouter() {
  return {
      .name = "openrouter",
      .base_url = "https://openrouter.ai/api/v1",
      .base_url_variables = {"OPENROUTER_BASE_URL"},
      .key = {.environment_variables = {"OPENROUTER_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&responses()},
  };
}

}  // namespace treaty::backends::providers
