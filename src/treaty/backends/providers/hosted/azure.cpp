// Azure OpenAI. An endpoint alone means its v1 API, where the model is the deployment's name; a URL
// of a deployment, with its api-version as the query, is taken as it is.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {
namespace {

std::string with_api(std::string_view given) {
  const bool whole = given.find("/openai/") != std::string_view::npos;
  return std::string(given) + (whole ? "" : "/openai/v1");
}

}  // namespace

Provider azure() {
  return {
      .name = "azure",
      .base_url_variables = {"AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"},
      .complete_base_url = with_api,
      .key = {.environment_variables = {"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"},
              .header = "api-key",
              .prefix = ""},
      .protocol = &chat_completions(),
      .also_speaks = {&responses()},
      .style = {.max_tokens_name = "max_completion_tokens"},
  };
}

}  // namespace treaty::backends::providers
