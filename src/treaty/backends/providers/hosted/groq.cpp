// Groq. Its requests are counted by the day and its tokens by the minute; no header says so.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {

Provider groq() {
  return {
      .name = "groq",
      .base_url = "https://api.groq.com/openai/v1",
      .base_url_variables = {"GROQ_BASE_URL"},
      .key = {.environment_variables = {"GROQ_API_KEY"}},
      .protocol = &chat_completions(),
      .also_speaks = {&responses()},
      .style = {.max_tokens_name = "max_completion_tokens"},
      .plain_limits = results::PlainLimits::day_requests_minute_tokens,
  };
}

}  // namespace treaty::backends::providers
