// Ollama: its own protocol, or Chat Completions below /v1. OLLAMA_HOST may be a host alone.
#include "treaty/backends/providers/provider.h"

namespace treaty::backends::providers {
namespace {

// As Ollama reads it: the scheme and the port may be missing, and 0.0.0.0 is what a server binds.
std::string from_host(std::string_view given) {
  if (given.ends_with("/v1")) given.remove_suffix(3);
  const std::size_t scheme = given.find("://");
  if (scheme != std::string_view::npos) return std::string(given);
  std::string host(given.substr(0, given.find(':')));
  std::string port(given.substr(host.size()));
  if (host.empty() || host == "0.0.0.0") host = "localhost";
  if (port.empty()) port = ":11434";
  return "http://" + host + port;
}

std::string path(const Call& call, const Protocol& protocol) {
  return (&protocol == &ollama_native() ? "" : "/v1") + protocol.path(call);
}

}  // namespace

Provider ollama() {
  return {
      .name = "ollama",
      .base_url = "http://localhost:11434",
      .base_url_variables = {"OLLAMA_BASE_URL", "OLLAMA_HOST"},
      .complete_base_url = from_host,
      .key = {.environment_variables = {"OLLAMA_API_KEY"}, .required = false},
      .protocol = &ollama_native(),
      .also_speaks = {&chat_completions(), &responses()},
      .path = path,
  };
}

}  // namespace treaty::backends::providers
