#include <fmt/format.h>

#include "treaty/base/json.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/templates/filters/all_filters.h"
#include "treaty/templates/language/lookup.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::filters {

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
