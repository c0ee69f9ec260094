#include <array>

#include "treaty/backends/protocols/protocol.h"

namespace treaty::backends {

const Protocol* find_protocol(std::string_view name) {
  if (name == "messages") name = "anthropic_messages";
  if (name == "generate_content") name = "gemini";
  const std::array<const Protocol*, 6> all = {&chat_completions(), &completions(),
                                              &responses(),        &anthropic_messages(),
                                              &gemini(),           &ollama_native()};
  for (const Protocol* protocol : all) {
    if (protocol->name == name) return protocol;
  }
  return nullptr;
}

}  // namespace treaty::backends
