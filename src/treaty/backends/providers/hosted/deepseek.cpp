// DeepSeek. Knows JSON, but no schema of it.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider deepseek() {
  return {
      .name = "deepseek",
      .base_url = "https://api.deepseek.com",
      .base_url_variables = {"DEEPSEEK_BASE_URL"},
      .key = {.environment_variables = {"DEEPSEEK_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&responses()},
      .style = {.json_schema = false},
  };
}

}  // namespace treaty::backends::providers
