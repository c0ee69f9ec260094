// What operators mean for values of every kind; what they do not mean anything for is an error.
#pragma once

#include <compare>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/templates/language/numbers.h"
#include "treaty/templates/language/operand.h"
#include "treaty/templates/language/tree.h"
#include "treaty/templates/template.h"

namespace treaty::templates::language {

// No text or list that is made while something is evaluated is larger, in bytes and items.
constexpr std::size_t kLargestText = std::size_t{16} << 20U;
constexpr std::size_t kLongestList = std::size_t{1} << 20U;
constexpr std::size_t kDeepestValue = 128;

// "null", "a boolean", "a number", "a string", "a list", "an object".
std::string_view kind_name(const Dynamic& value);

// `name` in quotes, cut when it is long.
std::string quoted_name(std::string_view name);

// Two numbers, or two strings by their code points.
std::expected<std::partial_ordering, std::string> ordering(const Dynamic& left,
                                                           const Dynamic& right);

// `element in container`: of a list, a key of an object, a part of a string.
std::expected<bool, std::string> contains(const Dynamic& container, const Dynamic& element);

// `+`: numbers, strings, lists.
Result add(Operand left, const Dynamic& right);

// `- * / // %`: numbers.
Result calculate(Arithmetic operation, const Dynamic& left, const Dynamic& right);

// `*` of a string or a list and an integer, which conditions do not have.
bool can_repeat(const Dynamic& left, const Dynamic& right);
Result repeated(const Dynamic& left, const Dynamic& right);

// Elements and members, by position from either end and by name. Null pointers: there is none.
const Dynamic* element_at(const List& list, std::int64_t position);
std::string_view character_at(std::string_view text, std::int64_t position);  // Empty: none.

// Whether it is nested more than `levels` deep.
bool is_deeper(const Dynamic& value, std::size_t levels);

// Finding what a name, a key or a position means, without copies of what is borrowed.

// Null pointers: there is none.
const Dynamic* find_bound(const Scope& scope, std::string_view name);
const Dynamic* value_of(const Scope& scope, Root root);

// A member of the input, or of the context where that lies over it.
const Dynamic* find_input(const Scope& scope, std::string_view name);

// The input with the context over it.
Operand whole_input(const Scope& scope);

// The member of an object; the element of a list or the character of a string, from either end.
std::optional<Operand> member_of(Operand object, std::string_view name);
std::optional<Operand> element_of(Operand sequence, std::int64_t position);

// `a.b.0` in a value; what is not there is undefined.
Operand at_path(const Dynamic& value, std::string_view path);

// As `{{ }}` prints it: nothing for what is undefined.
std::string print_operand(const Operand& operand);

}  // namespace treaty::templates::language
