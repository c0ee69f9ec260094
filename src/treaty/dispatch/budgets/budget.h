// What may be spent in a day.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::dispatch {

// A day is one of UTC. Absent: unlimited.
struct Budget {
  std::optional<std::int64_t> tokens{};
  std::optional<std::int64_t> picodollars{};  // 10^-12 dollars.
  bool is_empty() const { return !tokens && !picodollars; }
  bool operator==(const Budget&) const = default;
};

// Whose budget it is, as the store knows it: "agent:default", "tenant:acme".
inline std::string scope_of(std::string_view kind, std::string_view name) {
  return std::string(kind) + ':' + std::string(name);
}

}  // namespace treaty::dispatch
