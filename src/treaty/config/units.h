// Durations, sizes and money as people write them: 500ms, 30s, 24h; 64KiB, 16MiB; 2.50.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::config {

// ms, s, m, h, d. Nothing when it is negative, endless, or has no unit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// Bytes, or kB, MB, GB, KiB, MiB, GiB.
std::optional<std::size_t> parse_size(std::string_view text);

// Dollars, in 10^-12 of them: digits, with at most 12 more behind a point, up to 10^6 dollars. Not
// a hair of what is written is lost.
std::optional<std::int64_t> parse_dollars(std::string_view text);

// In the largest unit that it is a whole number of.
std::string duration_text(std::chrono::milliseconds time);
std::string size_text(std::size_t bytes);
std::string dollars_text(std::int64_t picodollars);

}  // namespace treaty::config
