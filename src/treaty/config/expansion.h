// ${VAR} and ${VAR:-default} in a value, $$ for a dollar. A dollar before anything else is one.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::config {

// The value of an environment variable; nothing when it is not set.
using Environment = std::function<std::optional<std::string>(std::string_view variable)>;

struct ExpansionFault {
  std::string message;
  std::string hint;
};

// A default stands for a variable that is not set or empty, and is taken as it is written. What a
// variable holds is not looked at again.
std::expected<std::string, ExpansionFault> expand(std::string_view text,
                                                  const Environment& environment);

}  // namespace treaty::config
