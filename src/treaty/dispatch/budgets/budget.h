// What may be spent in a day.
#pragma once

#include <cstdint>
#include <optional>

namespace treaty::dispatch {

// A day is one of UTC. Absent: unlimited.
struct Budget {
  std::optional<std::int64_t> tokens{};
  std::optional<std::int64_t> picodollars{};  // 10^-12 dollars.
  bool is_empty() const { return !tokens && !picodollars; }
  bool operator==(const Budget&) const = default;
};

}  // namespace treaty::dispatch
