#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "treaty/base/number.h"
#include "treaty/base/text.h"
#include "treaty/templates/filters/filters.h"
#include "treaty/templates/language/numbers.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::filters {
namespace {

using language::kind_name;
using language::numeric_of;

constexpr double kTwoTo63 = 9223372036854775808.0;

// A sign, digits, perhaps a point and an exponent, white space around; what is infinite is none.
std::optional<double> decimal_of(std::string_view text) {
  text = without_space_around(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) return std::nullopt;
  const auto value = parse_decimal(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> whole_of(std::string_view text) {
  text = without_space_around(text);
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result truncated(double number) {
  const double whole = std::trunc(number);
  if (whole >= kTwoTo63 || whole < -kTwoTo63) {
    return std::unexpected("the number is too large for an integer");
  }
  return Dynamic(static_cast<std::int64_t>(whole));
}

Result finite_number(double number) {
  if (!std::isfinite(number)) return std::unexpected("the number is too large");
  return Dynamic(number);
}

std::unexpected<std::string> no_number(std::string_view filter, const Operand& input) {
  return std::unexpected(fmt::format("'{}' is for numbers, not for {}", filter,
                                     input.is_undefined() ? "undefined" : kind_name(*input)));
}

Result given(const Arguments& arguments, Dynamic otherwise) {
  if (!arguments.has(0)) return otherwise;
  if (arguments[0].is_undefined()) return Operand::undefined("");
  return Dynamic(*arguments[0]);
}

// Half to even, by the exact value of the double, as Python does it.
double rounded(double number, std::int64_t precision) {
  constexpr std::int64_t kMostDigits = 400;  // No double has more on either side of its point.
  if (precision == 0) return std::nearbyint(number);
  if (precision > kMostDigits) return number;
  if (precision < -kMostDigits) return 0 * number;
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::isfinite(scale) ? std::nearbyint(number / scale) * scale : 0 * number;
  }
  const std::string text = fmt::format("{:.{}f}", number, precision);
  double value = number;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Result to_int(Operand&& input, const Arguments& arguments) {
  if (input.is_undefined()) return no_number("int", input);
  if (const auto number = numeric_of(*input)) {
    return number->is_whole ? Result(Dynamic(number->whole)) : truncated(number->decimal);
  }
  if (const auto* text = input->if_string()) {
    if (const auto whole = whole_of(*text)) return Dynamic(*whole);
    if (const auto decimal = decimal_of(*text)) return truncated(*decimal);
  }
  return given(arguments, std::int64_t{0});
}

Result to_float(Operand&& input, const Arguments& arguments) {
  if (input.is_undefined()) return no_number("float", input);
  if (const auto number = numeric_of(*input)) return Dynamic(number->decimal);
  if (const auto* text = input->if_string()) {
    if (const auto decimal = decimal_of(*text)) return Dynamic(*decimal);
  }
  return given(arguments, 0.0);
}

Result absolute(Operand&& input, const Arguments&) {
  const auto number = numeric_of(*input);
  if (!number) return no_number("abs", input);
  if (!number->is_whole) return Dynamic(std::abs(number->decimal));
  if (number->whole >= 0) return Dynamic(number->whole);
  return language::negated(*number);
}

Result round(Operand&& input, const Arguments& arguments) {
  const auto number = numeric_of(*input);
  if (!number) return no_number("round", input);
  std::int64_t precision = 0;
  if (arguments.has(0)) {
    const auto given = numeric_of(*arguments[0]);
    if (!given || !given->is_whole)
      return std::unexpected("the precision of 'round' is an integer");
    precision = given->whole;
  }
  if (!arguments.has(1) || *arguments[1] == "common") {
    return finite_number(rounded(number->decimal, precision));
  }
  const bool is_up = *arguments[1] == "ceil";
  if (!is_up && *arguments[1] != "floor") {
    return std::unexpected("the method of 'round' is 'common', 'ceil' or 'floor'");
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = number->decimal * scale;
  return finite_number((is_up ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

}  // namespace treaty::templates::filters
