// The values of conditions and templates: null, boolean, int64, double, string, list, ordered
// object. What is true, what is equal and how a value is printed is the same everywhere.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>

namespace treaty::templates {

using Dynamic = boost::json::value;  // A value whose type is known at run time.
using Object = boost::json::object;
using List = boost::json::array;

// False are null, false, 0, "", [] and {}.
bool is_true(const Dynamic& value);

// By value: `1 == 1.0`, booleans equal 1 and 0, objects whatever the order of their members.
bool are_equal(const Dynamic& left, const Dynamic& right);

// As `{{ }}` prints it: True, False, None; lists and objects as JSON with ", " and ": ".
std::string print(const Dynamic& value);
void append_printed(std::string& out, const Dynamic& value);

// As JSON on one line, with ", " and ": " and doubles as `{{ }}` prints them.
std::string print_json(const Dynamic& value);

// As JSON with a line for each member, `indent` spaces a level.
std::string print_indented_json(const Dynamic& value, std::size_t indent);

}  // namespace treaty::templates
