// A number as JSON has it: whole ones exact over all of int64, others as double. 60.0 is 60.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace treaty {

class Number {
 public:
  constexpr Number() = default;
  constexpr Number(std::signed_integral auto whole) : whole_(whole) {}
  constexpr Number(double value) {
    constexpr double kExact = 9007199254740992.0;  // 2^53: doubles below have all whole numbers.
    if (value >= -kExact && value <= kExact && value == static_cast<double>(floor_of(value))) {
      whole_ = floor_of(value);
    } else {
      is_whole_ = false;
      decimal_ = value;
    }
  }

  bool is_whole() const { return is_whole_; }
  std::int64_t whole() const { return whole_; }  // Of a whole one.
  double value() const { return is_whole_ ? static_cast<double>(whole_) : decimal_; }

  bool operator==(const Number&) const = default;

 private:
  static constexpr std::int64_t floor_of(double value) { return static_cast<std::int64_t>(value); }

  bool is_whole_ = true;
  std::int64_t whole_ = 0;
  double decimal_ = 0;
};

// Ends at the greatest integer, never beyond: for counts, which come from outside.
constexpr std::int64_t saturating_sum(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// A text that is a decimal as a whole. One that is too large is infinite, one too small 0.
std::optional<double> parse_decimal(std::string_view text);

// A text of nothing but digits; one beyond int64 ends there. A sign, a point or a placeholder means
// that nothing is known.
std::optional<std::int64_t> parse_count(std::string_view text);

}  // namespace treaty
