#include <array>

#include "treaty/backends/providers/provider.h"

// The registration: one line a provider, each a function of that name in a file of its own.
#define TREATY_PROVIDERS(X) \
  X(openai)                 \
  X(anthropic)              \
  X(cerebras)               \
  X(groq)                   \
  X(mistral)                \
  X(gemini)                 \
  X(openrouter)             \
  X(azure)                  \
  X(xai)                    \
  X(deepseek)               \
  X(together)               \
  X(huggingface)            \
  X(ollama)                 \
  X(vllm)                   \
  X(custom)

namespace treaty::backends {

namespace providers {
#define TREATY_DECLARE(name) Provider name();
TREATY_PROVIDERS(TREATY_DECLARE)
#undef TREATY_DECLARE
}  // namespace providers

std::span<const Provider> all_providers() {
#define TREATY_MAKE(name) providers::name(),
  static const std::array kProviders = {TREATY_PROVIDERS(TREATY_MAKE)};
#undef TREATY_MAKE
  return kProviders;
}

const Provider* find_provider(std::string_view name) {
  for (const Provider& provider : all_providers()) {
    if (provider.name == name) return &provider;
  }
  return nullptr;
}

const Protocol* Provider::find_protocol(std::string_view protocol_name) const {
  const Protocol* wanted = backends::find_protocol(protocol_name);
  if (wanted == nullptr) return nullptr;
  if (wanted == protocol) return protocol;
  for (const Protocol* other : also_speaks) {
    if (other == wanted) return other;
  }
  return nullptr;
}

}  // namespace treaty::backends
