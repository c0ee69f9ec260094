// Which of the providers' endpoints a path means, whatever stands before it: /v1, /openai/v1, a
// deployment of Azure's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"

namespace treaty::mock {

struct ProviderRoute {
  const backends::Protocol* protocol = nullptr;  // Null: the list of models.
  backends::PathSettings path{};                 // Azure's deployment, Gemini's model and stream.
  bool json_array = false;                       // Gemini's stream without alt=sse.
};

std::optional<ProviderRoute> find_route(std::string_view target);

// The path without the query.
std::string_view path_of(std::string_view target);

}  // namespace treaty::mock
