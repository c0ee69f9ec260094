// The values of conditions and templates: null, boolean, int64, double, string, list, ordered
// object. What is true, what is equal and how a value is printed is the same everywhere.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>

namespace treaty::templates {

using Value = boost::json::value;
using Object = boost::json::object;
using List = boost::json::array;

// False are null, false, 0, "", [] and {}.
bool is_true(const Value& value);

// By value: `1 == 1.0`, booleans equal 1 and 0, objects whatever the order of their members.
bool are_equal(const Value& left, const Value& right);

// As `{{ }}` prints it: True, False, None; lists and objects as JSON with ", " and ": ".
std::string print(const Value& value);
void append_printed(std::string& out, const Value& value);

// As JSON on one line, with ", " and ": " and doubles as `{{ }}` prints them.
std::string print_json(const Value& value);

// As JSON with a line for each member, `indent` spaces a level.
std::string print_indented_json(const Value& value, std::size_t indent);

}  // namespace treaty::templates
