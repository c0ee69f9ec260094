// Calculating with the numbers of conditions and templates: int64 and double, booleans as 1 and 0.
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "treaty/templates/value.h"

namespace treaty::templates::language {

struct Numeric {
  bool is_whole = true;
  std::int64_t whole = 0;  // Of a whole one.
  double decimal = 0;      // Always.
};

// Nothing for what is neither number nor boolean.
std::optional<Numeric> numeric_of(const Dynamic& value);

// Exact, also between the largest integers and doubles.
std::partial_ordering order(const Numeric& left, const Numeric& right);

enum class Arithmetic : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  join,  // `~`, of texts.
};

std::string_view symbol_of(Arithmetic operation);

// What does not fit, and a division by zero, is an error. `/` gives a double; `//` and `%` go
// towards the smaller number.
std::expected<Dynamic, std::string> calculate(Arithmetic operation, const Numeric& left,
                                              const Numeric& right);
std::expected<Dynamic, std::string> negated(const Numeric& number);

}  // namespace treaty::templates::language
