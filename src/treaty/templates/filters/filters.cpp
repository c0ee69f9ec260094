#include "treaty/templates/filters/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "treaty/base/text.h"
#include "treaty/templates/filters/all_filters.h"
#include "treaty/templates/language/operations.h"

namespace treaty::templates::filters {
namespace {

using Names = std::string_view;

constexpr Names kDefault[] = {"default_value", "boolean"};
constexpr Names kNumber[] = {"default"};
constexpr Names kTrim[] = {"chars"};
constexpr Names kReplace[] = {"old", "new", "count"};
constexpr Names kJoin[] = {"d", "attribute"};
constexpr Names kSort[] = {"reverse", "case_sensitive", "attribute"};
constexpr Names kExtreme[] = {"case_sensitive", "attribute"};
constexpr Names kSum[] = {"attribute", "start"};
constexpr Names kRound[] = {"precision", "method"};
constexpr Names kTruncate[] = {"length", "killwords", "end", "leeway"};
constexpr Names kToJson[] = {"indent"};

constexpr Filter kFilters[] = {
    {"default", or_default, kDefault},
    {"d", or_default, kDefault},
    {"int", to_int, kNumber},
    {"float", to_float, kNumber},
    {"string", to_string},
    {"length", length},
    {"count", length},
    {"upper", upper},
    {"lower", lower},
    {"trim", trim, kTrim},
    {"capitalize", capitalize},
    {"replace", replace, kReplace, 2},
    {"join", join, kJoin},
    {"first", first},
    {"last", last},
    {"sort", sort, kSort},
    {"min", smallest, kExtreme},
    {"max", largest, kExtreme},
    {"reverse", reverse},
    {"sum", sum, kSum},
    {"abs", absolute},
    {"round", round, kRound},
    {"truncate", truncate, kTruncate},
    {"list", to_list},
    {"tojson", to_json, kToJson},
    {"fromjson", from_json},
};

// Booleans are numbers too, and what has a length and positions or keys is a sequence.
constexpr Test kTests[] = {
    {"defined", [](const Operand& operand) { return !operand.is_undefined(); }},
    {"undefined", [](const Operand& operand) { return operand.is_undefined(); }},
    {"none", [](const Operand& it) { return !it.is_undefined() && it->is_null(); }},
    {"string", [](const Operand& operand) { return operand->is_string(); }},
    {"number", [](const Operand& operand) { return operand->is_number() || operand->is_bool(); }},
    {"boolean", [](const Operand& operand) { return operand->is_bool(); }},
    {"mapping", [](const Operand& operand) { return operand->is_object(); }},
    {"sequence",
     [](const Operand& it) { return it.is_undefined() || it->is_string() || it->is_structured(); }},
};

template <class Table>
auto find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& it) { return it.name == name; });
  return found == std::end(table) ? nullptr : found;
}

template <class Table>
std::string unknown(std::string_view what, const Table& table, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  std::string text = fmt::format("there is no {} {}", what, language::quoted_name(name));
  if (const auto near = closest(names, name); !near.empty()) {
    return text + fmt::format("; did you mean '{}'?", near);
  }
  return text + fmt::format("; there are {}", fmt::join(names, ", "));
}

}  // namespace

const Filter* find_filter(std::string_view name) { return find(kFilters, name); }
const Test* find_test(std::string_view name) { return find(kTests, name); }

std::string unknown_filter(std::string_view name) { return unknown("filter", kFilters, name); }
std::string unknown_test(std::string_view name) { return unknown("test", kTests, name); }

}  // namespace treaty::templates::filters
