// Which of the providers' endpoints a path means, whatever stands before it: /v1, /openai/v1, a
// deployment of Azure's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treaty::mock {

enum class Endpoint {
  chat_completions,
  completions,
  responses,
  messages,
  generate_content,
  ollama_chat,
  models,
};

struct Route {
  Endpoint endpoint;
  std::string model{};      // Named by the path: Azure's deployment, Gemini's model.
  bool stream = false;      // Asked for by the path.
  bool json_array = false;  // Gemini's stream without alt=sse.
};

std::optional<Route> find_route(std::string_view target);

// The path without the query.
std::string_view path_of(std::string_view target);

// The word that recordings have for it.
std::string_view name_of(Endpoint endpoint);

}  // namespace treaty::mock
