#include <fmt/format.h>

#include <array>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/protocols/wire.h"

namespace treaty::backends {

std::span<const Protocol* const> all_protocols() {
  // If one path is a suffix of another, the protocol with the longer path comes first.
  static const std::array<const Protocol*, 6> all = {&chat_completions(), &completions(),
                                                     &responses(),        &anthropic_messages(),
                                                     &gemini(),           &ollama_native()};
  return all;
}

const Protocol* find_protocol(std::string_view name) {
  for (const Protocol* protocol : all_protocols()) {
    if (protocol->name == name || protocol->recorded_name == name) return protocol;
  }
  return nullptr;
}

const Protocol* find_protocol_of_path(std::string_view path) {
  path = path.substr(0, path.find('?'));
  for (const Protocol* protocol : all_protocols()) {
    if (!protocol->fixed_path.empty() && path.ends_with(protocol->fixed_path)) return protocol;
  }
  if (path.ends_with("enerateContent")) return &gemini();  // With "stream" before it, or not.
  return path.ends_with("/api/generate") ? &ollama_native() : nullptr;
}

std::expected<ReceivedRequest, std::string> parse_request(const Protocol& protocol,
                                                          std::string_view body,
                                                          const PathSettings& path) {
  // Names that repeat and huge numbers are the caller's business, as with real providers.
  const json::Document document(body, {.max_depth = 512, .grammar_only = true});
  const auto root = document.root();
  if (!root || !document.faults().empty()) {
    return std::unexpected(fmt::format(
        "We could not parse the JSON body of your request. {}",
        document.faults().empty() ? "It is empty." : document.faults().front().message));
  }
  if (!root->is_object()) return std::unexpected("The JSON body of your request is no object.");
  ReceivedRequest request;
  request.call.model = json::find_text(root, "model");
  if (request.call.model.empty()) request.call.model = path.model;
  request.call.stream = path.stream || is_true(json::find_member(root, "stream"));
  if (request.call.model.empty()) {
    return std::unexpected(protocol.errors == ErrorStyle::anthropic
                               ? "model: Field required"
                               : "you must provide a model parameter");
  }
  if (std::string fault = protocol.read_request(request, *root); !fault.empty()) {
    return std::unexpected(std::move(fault));
  }
  return request;
}

}  // namespace treaty::backends
