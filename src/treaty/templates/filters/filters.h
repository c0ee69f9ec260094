// Filters and tests of templates by name: what `value|name(arguments)` and `value is name` mean.
#pragma once

#include <array>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "treaty/templates/language/operand.h"

namespace treaty::templates::filters {

using language::Operand;
using language::Result;

constexpr std::size_t kMostParameters = 4;

// What was given for each parameter; null pointers stand for nothing.
class Arguments {
 public:
  void set(std::size_t parameter, const Operand& operand) { given_[parameter] = &operand; }

  bool has(std::size_t parameter) const { return given_[parameter] != nullptr; }
  const Operand& operator[](std::size_t parameter) const { return *given_[parameter]; }

  // What is not given is false, and so is what is undefined.
  bool is_true(std::size_t parameter) const {
    return has(parameter) && given_[parameter]->is_true();
  }

 private:
  std::array<const Operand*, kMostParameters> given_{};
};

struct Filter {
  std::string_view name;
  Result (*apply)(Operand&& input, const Arguments& arguments);
  std::span<const std::string_view> parameters{};
  std::size_t required = 0;  // So many of the first must be given.
};

struct Test {
  std::string_view name;
  bool (*holds)(const Operand& operand);
};

// Null when there is none of that name; the messages then name the nearest.
const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);
std::string unknown_filter(std::string_view name);
std::string unknown_test(std::string_view name);

// Every filter as a function; their parameters are in filters.cpp.

// Of anything.
Result or_default(Operand&& input, const Arguments& arguments);
Result to_string(Operand&& input, const Arguments& arguments);
Result length(Operand&& input, const Arguments& arguments);
Result to_json(Operand&& input, const Arguments& arguments);
Result from_json(Operand&& input, const Arguments& arguments);

// Of numbers, and of texts that hold one.
Result to_int(Operand&& input, const Arguments& arguments);
Result to_float(Operand&& input, const Arguments& arguments);
Result absolute(Operand&& input, const Arguments& arguments);
Result round(Operand&& input, const Arguments& arguments);

// Of texts; what is none is printed first.
Result upper(Operand&& input, const Arguments& arguments);
Result lower(Operand&& input, const Arguments& arguments);
Result capitalize(Operand&& input, const Arguments& arguments);
Result trim(Operand&& input, const Arguments& arguments);
Result replace(Operand&& input, const Arguments& arguments);
Result truncate(Operand&& input, const Arguments& arguments);

// Of lists, of the characters of a text, of the keys of an object.
Result to_list(Operand&& input, const Arguments& arguments);
Result join(Operand&& input, const Arguments& arguments);
Result first(Operand&& input, const Arguments& arguments);
Result last(Operand&& input, const Arguments& arguments);
Result reverse(Operand&& input, const Arguments& arguments);
Result sort(Operand&& input, const Arguments& arguments);
Result smallest(Operand&& input, const Arguments& arguments);
Result largest(Operand&& input, const Arguments& arguments);
Result sum(Operand&& input, const Arguments& arguments);

// What a loop goes over: a list, the keys of an object, the characters of a text, nothing for what
// is undefined.
Result items_of(Operand operand);

}  // namespace treaty::templates::filters
