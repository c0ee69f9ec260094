// Durations and sizes as people write them: 500ms, 30s, 24h; 64KiB, 16MiB.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::config {

// ms, s, m, h, d. Nothing when it is negative, endless, or has no unit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// Bytes, or kB, MB, GB, KiB, MiB, GiB.
std::optional<std::size_t> parse_size(std::string_view text);

// In the largest unit that it is a whole number of.
std::string duration_text(std::chrono::milliseconds time);
std::string size_text(std::size_t bytes);

}  // namespace treaty::config
