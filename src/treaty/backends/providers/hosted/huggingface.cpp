// Hugging Face: a router to many providers.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider huggingface() {
  return {
      .name = "huggingface",
      .base_url = "https://router.huggingface.co/v1",
      .base_url_variables = {"HUGGINGFACE_BASE_URL", "HF_BASE_URL"},
      .key = {.environment_variables = {"HF_TOKEN", "HUGGINGFACE_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&responses()},
  };
}

}  // namespace treaty::backends::providers
