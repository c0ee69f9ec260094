// One entry of an agent's chain of backends: whom to ask, for what, when, and how patiently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {

struct Choice {
  std::string backend;  // A name that the dispatcher knows: a configured provider or a script.
  std::string model{};
  std::int64_t context_window = 128'000;  // Tokens that fit into a call and its answer.
  std::optional<std::int64_t> max_output_tokens{};
  std::optional<double> temperature{};
  int preference = 0;             // Lower ones first; those with the same are equals,
  int weight = 1;                 // of which one is drawn, more often the heavier it is.
  std::vector<std::string> on{};  // Codes of failures that lead here; none: the usual ones.
  Policy policy{};
  bool operator==(const Choice&) const = default;
};

}  // namespace treaty::dispatch
