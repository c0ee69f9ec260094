#include "treaty/templates/filters/filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/text/characters.h"

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

using language::kind_name;

Result or_default(Operand&& input, const Arguments& arguments) {
  const bool is_kept = !input.is_undefined() && (input.is_true() || !arguments.is_true(1));
  if (is_kept) return input;
  if (!arguments.has(0)) return Dynamic("");
  if (arguments[0].is_undefined()) return Operand::undefined(arguments[0].undefined_name());
  return Dynamic(*arguments[0]);
}

Result to_string(Operand&& input, const Arguments&) {
  if (input->is_string()) return input;
  return Dynamic(boost::json::string(language::print_operand(input)));
}

Result length(Operand&& input, const Arguments&) {
  std::size_t size = 0;
  if (const auto* text = input->if_string()) {
    size = character_count(*text);
  } else if (const auto* list = input->if_array()) {
    size = list->size();
  } else if (const auto* object = input->if_object()) {
    size = object->size();
  } else if (!input.is_undefined()) {
    return std::unexpected(fmt::format("{} has no length", kind_name(*input)));
  }
  return Dynamic(static_cast<std::int64_t>(size));
}

Result to_json(Operand&& input, const Arguments& arguments) {
  if (input.is_undefined()) return std::unexpected("what is undefined has no JSON");
  if (!arguments.has(0) || arguments[0]->is_null()) {
    return Dynamic(boost::json::string(print_json(*input)));
  }
  if (!arguments[0]->is_int64()) return std::unexpected("the indent of 'tojson' is an integer");
  return Dynamic(boost::json::string(print_indented_json(
      *input,
      static_cast<std::size_t>(std::clamp<std::int64_t>(arguments[0]->get_int64(), 0, 16)))));
}

Result from_json(Operand&& input, const Arguments&) {
  const auto* text = input->if_string();
  if (text == nullptr) {
    return std::unexpected(fmt::format("'fromjson' reads a string, not {}",
                                       input.is_undefined() ? "undefined" : kind_name(*input)));
  }
  const json::Document document{std::string_view(*text)};
  if (!document.faults().empty() || !document.root()) {
    return std::unexpected(
        fmt::format("'fromjson': not JSON: {}",
                    document.faults().empty() ? "it is empty" : document.faults()[0].message));
  }
  return json::to_dynamic(*document.root());
}

}  // namespace treaty::templates::filters
