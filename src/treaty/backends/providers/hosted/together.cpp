// Together.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider together() {
  return {
      .name = "together",
      .base_url = "https://api.together.xyz/v1",
      .base_url_variables = {"TOGETHER_BASE_URL"},
      .key = {.environment_variables = {"TOGETHER_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&completions()},
  };
}

}  // namespace treaty::backends::providers
