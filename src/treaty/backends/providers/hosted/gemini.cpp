// Gemini. Its SDKs take a base URL without the version, so both forms are read.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {
namespace {

std::string with_version(std::string_view given) {
  const std::string_view last = given.substr(given.rfind('/') + 1);
  const bool there = last == "v1" || last == "v1beta" || last == "v1alpha";
  return std::string(given) + (there ? "" : "/v1beta");
}

}  // namespace

Provider gemini() {
  return {
      .name = "gemini",
      .base_url = "https://generativelanguage.googleapis.com/v1beta",
      .base_url_variables = {"GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"},
      .complete_base_url = with_version,
      .key = {.environment_variables = {"GEMINI_API_KEY", "GOOGLE_API_KEY"},
              .header = "x-goog-api-key",
              .prefix = ""},
      .protocol = &backends::gemini(),
  };
}

}  // namespace treaty::backends::providers
