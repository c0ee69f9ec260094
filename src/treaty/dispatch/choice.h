// One entry of an agent's chain of backends: whom to ask, and for what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace treaty::dispatch {

struct Choice {
  std::string backend;  // A name that the dispatcher knows: a configured provider or a script.
  std::string model{};
  std::int64_t context_window = 128'000;  // Tokens that fit into a call and its answer.
  std::optional<std::int64_t> max_output_tokens{};
  std::optional<double> temperature{};
  bool operator==(const Choice&) const = default;
};

}  // namespace treaty::dispatch
