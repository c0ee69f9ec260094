// A JSON number as it is written, exactly: 0.1 is a tenth, and no count of digits is too many.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::schema {

// ±0.DIGITS × 10^exponent, where DIGITS neither begin nor end with a zero. Zero has no digits.
class Decimal {
 public:
  // Of the text of a number in a document.
  explicit Decimal(std::string_view number);

  bool is_zero() const { return digits_.empty(); }
  bool is_negative() const { return negative_; }
  bool is_whole() const { return exponent_ >= static_cast<std::int64_t>(digits_.size()); }

  // Of a whole number that is not negative; one beyond uint64 ends there.
  std::optional<std::uint64_t> count() const;

  // The digits as a number, when they are few enough to divide by.
  std::optional<std::uint64_t> coefficient() const;

  // The divisor is not zero and has a coefficient.
  bool is_multiple_of(const Decimal& divisor) const;

  std::strong_ordering operator<=>(const Decimal& other) const;
  bool operator==(const Decimal& other) const = default;

 private:
  // What the last digit counts: the number is DIGITS × 10^scale.
  std::int64_t scale() const { return exponent_ - static_cast<std::int64_t>(digits_.size()); }

  bool negative_ = false;
  std::string digits_;
  std::int64_t exponent_ = 0;
};

}  // namespace treaty::schema
