#include "treaty/mock/endpoint.h"

#include <array>
#include <utility>

namespace treaty::mock {
namespace {

// The longer of two that fit comes first.
constexpr std::array<std::pair<std::string_view, Endpoint>, 5> kEndings = {{
    {"/chat/completions", Endpoint::chat_completions},
    {"/completions", Endpoint::completions},
    {"/responses", Endpoint::responses},
    {"/messages", Endpoint::messages},
    {"/api/chat", Endpoint::ollama_chat},
}};

// What stands between `before` and the next slash.
std::string_view part_after(std::string_view path, std::string_view before) {
  const std::size_t at = path.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = path.substr(at + before.size());
  return rest.substr(0, rest.find('/'));
}

}  // namespace

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::optional<Route> find_route(std::string_view target) {
  std::string_view path = path_of(target);
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  for (const auto& [ending, endpoint] : kEndings) {
    if (!path.ends_with(ending)) continue;
    return Route{.endpoint = endpoint, .model = std::string(part_after(path, "/deployments/"))};
  }
  const std::string_view model = part_after(path, "/models/");
  const std::size_t colon = model.rfind(':');
  const std::string_view verb = colon == std::string_view::npos ? "" : model.substr(colon + 1);
  if (verb == "generateContent" || verb == "streamGenerateContent") {
    const bool stream = verb == "streamGenerateContent";
    return Route{.endpoint = Endpoint::generate_content,
                 .model = std::string(model.substr(0, colon)),
                 .stream = stream,
                 .json_array = stream && !target.contains("alt=sse")};
  }
  if (path.ends_with("/models") || !model.empty()) {
    return Route{.endpoint = Endpoint::models, .model = std::string(model)};
  }
  return std::nullopt;
}

std::string_view name_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::chat_completions: return "chat_completions";
    case Endpoint::completions: return "completions";
    case Endpoint::responses: return "responses";
    case Endpoint::messages: return "messages";
    case Endpoint::generate_content: return "generate_content";
    case Endpoint::ollama_chat: return "ollama_native";
    case Endpoint::models: return "models";
  }
  return "";
}

}  // namespace treaty::mock
