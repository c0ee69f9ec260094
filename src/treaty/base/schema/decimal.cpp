#include "treaty/base/schema/decimal.h"

#include <algorithm>
#include <limits>

#include "treaty/base/pieces.h"

namespace treaty::schema {
namespace {

__extension__ using Wide = unsigned __int128;

// Beyond it numbers differ in nothing that anybody compares, and sums of exponents cannot overflow.
constexpr std::int64_t kLargestExponent = 1'000'000'000'000'000;

// Of the text after the `e`.
std::int64_t exponent_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::int64_t value =
      std::min(parse_number<std::int64_t>(text).value_or(kLargestExponent), kLargestExponent);
  return negative ? -value : value;
}

std::uint64_t multiplied(std::uint64_t left, std::uint64_t right, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(static_cast<Wide>(left) * right % modulus);
}

std::uint64_t power_of_ten(std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1 % modulus;
  std::uint64_t factor = 10 % modulus;
  for (; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = multiplied(result, factor, modulus);
    factor = multiplied(factor, factor, modulus);
  }
  return result;
}

}  // namespace

Decimal::Decimal(std::string_view number) {
  negative_ = number.starts_with('-');
  if (negative_) number.remove_prefix(1);
  const std::size_t e = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  digits_ = mantissa.substr(0, point);
  exponent_ = static_cast<std::int64_t>(point);
  if (point < mantissa.size()) digits_ += mantissa.substr(point + 1);
  if (e < number.size()) exponent_ += exponent_of(number.substr(e + 1));

  const std::size_t zeros = std::min(digits_.find_first_not_of('0'), digits_.size());
  digits_.erase(0, zeros);
  exponent_ -= static_cast<std::int64_t>(zeros);
  digits_.erase(digits_.find_last_not_of('0') + 1);  // npos + 1 is 0: nothing but zeros.
  if (digits_.empty()) {
    negative_ = false;
    exponent_ = 0;
  }
}

std::optional<std::uint64_t> Decimal::coefficient() const {
  return parse_number<std::uint64_t>(digits_);
}

std::optional<std::uint64_t> Decimal::count() const {
  if (is_zero()) return 0;
  if (negative_ || !is_whole()) return std::nullopt;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const auto digits = coefficient();
  if (!digits || exponent_ > 20) return kMost;
  std::uint64_t value = *digits;
  for (std::int64_t i = 0; i < scale(); ++i) {
    if (value > kMost / 10) return kMost;
    value *= 10;
  }
  return value;
}

// The last digit is no zero: what counts smaller units than the divisor is no multiple of it.
bool Decimal::is_multiple_of(const Decimal& divisor) const {
  if (is_zero()) return true;
  if (scale() < divisor.scale()) return false;
  const std::uint64_t modulus = *divisor.coefficient();
  std::uint64_t rest = 0;
  for (const char digit : digits_) {
    rest = static_cast<std::uint64_t>(
        (static_cast<Wide>(rest) * 10 + static_cast<unsigned>(digit - '0')) % modulus);
  }
  const auto shift = static_cast<std::uint64_t>(scale() - divisor.scale());
  return multiplied(rest, power_of_ten(shift, modulus), modulus) == 0;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  const auto sign = [](const Decimal& one) { return one.is_zero() ? 0 : one.negative_ ? -1 : 1; };
  if (const auto order = sign(*this) <=> sign(other); order != 0) return order;
  const Decimal& left = negative_ ? other : *this;
  const Decimal& right = negative_ ? *this : other;
  if (const auto order = left.exponent_ <=> right.exponent_; order != 0) return order;
  return left.digits_ <=> right.digits_;
}

}  // namespace treaty::schema
