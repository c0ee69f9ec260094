// What every fuzz target shares: its input as text, and a check that ends the run when it fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace treaty::fuzz {

// libFuzzer takes the trap for a crash and keeps the input.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return size == 0 ? std::string_view("")
                   : std::string_view(reinterpret_cast<const char*>(data), size);
}

}  // namespace treaty::fuzz
