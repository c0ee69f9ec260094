// Anthropic. Its SDKs take a base URL without the version, so both forms are read.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {
namespace {

std::string with_version(std::string_view given) {
  return std::string(given) + (given.ends_with("/v1") ? "" : "/v1");
}

}  // namespace

Provider anthropic() {
  return {
      .name = "anthropic",
      .base_url = "https://api.anthropic.com/v1",
      .base_url_variables = {"ANTHROPIC_BASE_URL"},
      .complete_base_url = with_version,
      .key = {.environment_variables = {"ANTHROPIC_API_KEY"}, .header = "x-api-key", .prefix = ""},
      .protocol = &anthropic_messages(),
  };
}

}  // namespace treaty::backends::providers
