#include "treaty/templates/language/numbers.h"

#include <cmath>
#include <limits>

namespace treaty::templates::language {
namespace {

using boost::json::kind;
using Outcome = std::expected<Dynamic, std::string>;

constexpr double kTwoTo63 = 9223372036854775808.0;

Numeric whole_number(std::int64_t number) {
  return {.is_whole = true, .whole = number, .decimal = static_cast<double>(number)};
}

Numeric decimal_number(double number) { return {.is_whole = false, .decimal = number}; }

std::partial_ordering order(std::int64_t whole, double decimal) {
  if (decimal >= kTwoTo63) return std::partial_ordering::less;
  if (decimal < -kTwoTo63) return std::partial_ordering::greater;
  const double truncated = std::trunc(decimal);
  const auto other = static_cast<std::int64_t>(truncated);
  if (whole != other) return whole <=> other;
  return 0.0 <=> decimal - truncated;
}

Outcome finite(double number) {
  if (!std::isfinite(number)) return std::unexpected("the number is too large");
  return number;
}

Outcome whole_result(bool overflows, std::int64_t number) {
  if (overflows) return std::unexpected("the number is too large for an integer");
  return number;
}

Outcome division_by_zero() { return std::unexpected("division by zero"); }

// The sign is that of the divisor.
double floored_remainder(double left, double right) {
  const double rest = std::fmod(left, right);
  if (rest == 0) return std::copysign(0.0, right);
  return (rest < 0) != (right < 0) ? rest + right : rest;
}

double floored_quotient(double left, double right) {
  const double quotient = (left - floored_remainder(left, right)) / right;
  // The division may have missed a whole number by a little.
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Outcome floor_whole(Arithmetic operation, std::int64_t left, std::int64_t right) {
  if (right == 0) return division_by_zero();
  if (right == -1) {  // The only quotient that can overflow.
    if (operation == Arithmetic::remainder) return std::int64_t{0};
    std::int64_t negated = 0;
    const bool overflows = __builtin_sub_overflow(std::int64_t{0}, left, &negated);
    return whole_result(overflows, negated);
  }
  const std::int64_t rest = left % right;
  const bool is_below = rest != 0 && (rest < 0) != (right < 0);
  if (operation == Arithmetic::remainder) return is_below ? rest + right : rest;
  return left / right - (is_below ? 1 : 0);
}

Outcome calculate_whole(Arithmetic operation, std::int64_t left, std::int64_t right) {
  std::int64_t out = 0;
  switch (operation) {
    case Arithmetic::add: return whole_result(__builtin_add_overflow(left, right, &out), out);
    case Arithmetic::subtract: return whole_result(__builtin_sub_overflow(left, right, &out), out);
    case Arithmetic::multiply: return whole_result(__builtin_mul_overflow(left, right, &out), out);
    default: return floor_whole(operation, left, right);
  }
}

}  // namespace

std::optional<Numeric> numeric_of(const Dynamic& value) {
  switch (value.kind()) {
    case kind::bool_: return whole_number(value.get_bool() ? 1 : 0);
    case kind::int64: return whole_number(value.get_int64());
    case kind::uint64:
      if (value.get_uint64() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        return decimal_number(static_cast<double>(value.get_uint64()));
      }
      return whole_number(static_cast<std::int64_t>(value.get_uint64()));
    case kind::double_: return decimal_number(value.get_double());
    default: return std::nullopt;
  }
}

std::partial_ordering order(const Numeric& left, const Numeric& right) {
  if (left.is_whole && right.is_whole) return left.whole <=> right.whole;
  if (left.is_whole) return order(left.whole, right.decimal);
  if (right.is_whole) return 0 <=> order(right.whole, left.decimal);
  return left.decimal <=> right.decimal;
}

std::string_view symbol_of(Arithmetic operation) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "~"};
  return kSymbols[static_cast<std::size_t>(operation)];
}

Outcome calculate(Arithmetic operation, const Numeric& left, const Numeric& right) {
  if (operation != Arithmetic::divide && left.is_whole && right.is_whole) {
    return calculate_whole(operation, left.whole, right.whole);
  }
  switch (operation) {
    case Arithmetic::add: return finite(left.decimal + right.decimal);
    case Arithmetic::subtract: return finite(left.decimal - right.decimal);
    case Arithmetic::multiply: return finite(left.decimal * right.decimal);
    default: break;
  }
  if (right.decimal == 0) return division_by_zero();
  if (operation == Arithmetic::divide) return finite(left.decimal / right.decimal);
  if (operation == Arithmetic::remainder) {
    return finite(floored_remainder(left.decimal, right.decimal));
  }
  return finite(floored_quotient(left.decimal, right.decimal));
}

Outcome negated(const Numeric& number) {
  if (!number.is_whole) return -number.decimal;
  return calculate_whole(Arithmetic::subtract, 0, number.whole);
}

}  // namespace treaty::templates::language
