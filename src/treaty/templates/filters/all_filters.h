// Every filter as a function; their parameters are in filters.cpp.
#pragma once

#include <expected>
#include <string>

#include "treaty/templates/filters/filters.h"

namespace treaty::templates::filters {

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
