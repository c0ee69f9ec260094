// Finding what a name, a key or a position means, without copies of what is borrowed.
#pragma once

#include <optional>
#include <string_view>

#include "treaty/templates/language/operand.h"
#include "treaty/templates/language/tree.h"
#include "treaty/templates/scope.h"

namespace treaty::templates::language {

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
