// Times as providers write them in headers and messages: `1h8m25.745s`, `51629.8`, epoch seconds
// and milliseconds, RFC 3339, HTTP dates. One reader for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace treaty::results {

// A length of time, exact to the nanosecond; very long ones end at kLongest.
struct Duration {
  static constexpr std::int64_t kLongest = 1'000'000'000'000;  // Seconds: some 30,000 years.
  static constexpr std::int64_t kNanoseconds = 1'000'000'000;

  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;  // Below one second.

  std::int64_t rounded_up() const { return seconds + (nanoseconds > 0 ? 1 : 0); }
  double value() const {
    return static_cast<double>(seconds) + static_cast<double>(nanoseconds) / 1e9;
  }
  bool operator==(const Duration&) const = default;
};

// The time of a reset, either as a length from now or as a point.
struct ResetTime {
  std::optional<Duration> after{};
  std::optional<double> at{};  // Seconds since 1970.
};

// Nothing when it cannot be read; negative numbers cannot.
std::optional<ResetTime> parse_reset_time(std::string_view text);

// A sum of numbers with units (d h m s ms us µs ns), or a bare number of seconds.
std::optional<Duration> parse_duration(std::string_view text);

// The length that `text` begins with: `6.596s`, `1m26.4s`, `20 seconds`, `5`.
std::optional<Duration> leading_duration(std::string_view text);

}  // namespace treaty::results
