#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "treaty/base/try.h"
#include "treaty/templates/filters/filters.h"
#include "treaty/templates/language/numbers.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::filters {
namespace {

using language::kind_name;
using language::kLargestText;
using language::print_operand;

Dynamic text_value(std::string_view text) { return Dynamic(boost::json::string(text)); }

std::unexpected<std::string> too_long() {
  return std::unexpected(std::string("the text is too long"));
}

// The whole number that is given for a parameter.
std::expected<std::int64_t, std::string> whole_argument(const Arguments& arguments,
                                                        std::size_t parameter,
                                                        std::int64_t otherwise,
                                                        std::string_view name) {
  if (!arguments.has(parameter) ||
      (arguments[parameter]->is_null() && !arguments[parameter].is_undefined()))
    return otherwise;
  const auto number = language::numeric_of(*arguments[parameter]);
  if (!number || !number->is_whole) return std::unexpected(fmt::format("'{}' is an integer", name));
  return number->whole;
}

// Every character and both ends get a `fresh` beside them.
Result replaced_nothing(std::string_view text, std::string_view fresh, std::int64_t count) {
  std::string out;
  while (true) {
    if (count-- > 0) out += fresh;
    if (text.empty()) break;
    const std::string_view character = first_character(text);
    out += character;
    text.remove_prefix(character.size());
    if (out.size() > kLargestText) return too_long();
  }
  return text_value(out);
}

bool has_character(std::string_view characters, std::string_view one) {
  return !one.empty() && characters.find(one) != std::string_view::npos;
}

std::string_view without_characters_around(std::string_view text, std::string_view characters) {
  while (has_character(characters, first_character(text))) {
    text.remove_prefix(first_character(text).size());
  }
  while (has_character(characters, last_character(text))) {
    text.remove_suffix(last_character(text).size());
  }
  return text;
}

}  // namespace

Result upper(Operand&& input, const Arguments&) {
  return text_value(upper_case(print_operand(input)));
}

Result lower(Operand&& input, const Arguments&) {
  return text_value(lower_case(print_operand(input)));
}

Result capitalize(Operand&& input, const Arguments&) {
  const std::string text = print_operand(input);
  const std::string_view begin = first_character(text);
  return text_value(title_case(begin) + lower_case(std::string_view(text).substr(begin.size())));
}

Result trim(Operand&& input, const Arguments& arguments) {
  const std::string text = print_operand(input);
  if (!arguments.has(0) || arguments[0]->is_null()) return text_value(without_space_around(text));
  return text_value(without_characters_around(text, print_operand(arguments[0])));
}

Result replace(Operand&& input, const Arguments& arguments) {
  const std::string source = print_operand(input);
  const std::string old = print_operand(arguments[0]);
  const std::string fresh = print_operand(arguments[1]);
  TREATY_TRY(const std::int64_t most, whole_argument(arguments, 2, -1, "count"));
  std::int64_t count = most < 0 ? std::numeric_limits<std::int64_t>::max() : most;
  if (old.empty()) return replaced_nothing(source, fresh, count);
  std::string out;
  std::size_t at = 0;
  for (; count > 0; --count) {
    const std::size_t found = source.find(old, at);
    if (found == std::string::npos) break;
    out.append(source, at, found - at).append(fresh);
    if (out.size() > kLargestText) return too_long();
    at = found + old.size();
  }
  out.append(source, at);
  return text_value(out);
}

Result truncate(Operand&& input, const Arguments& arguments) {
  if (input.is_undefined()) return input;
  const auto* source = input->if_string();
  if (source == nullptr) {
    return std::unexpected(fmt::format("'truncate' is for strings, not for {}", kind_name(*input)));
  }
  TREATY_TRY(const std::int64_t length, whole_argument(arguments, 0, 255, "length"));
  TREATY_TRY(const std::int64_t leeway, whole_argument(arguments, 3, 5, "leeway"));
  const std::string end = arguments.has(2) ? print_operand(arguments[2]) : "...";
  const auto end_size = static_cast<std::int64_t>(character_count(end));
  if (length < end_size || leeway < 0) {
    return std::unexpected(fmt::format("'truncate' cannot cut to {} characters", length));
  }
  const std::string_view text = *source;
  const auto size = static_cast<std::int64_t>(character_count(text));
  if (size <= length || size - length <= leeway) return input;
  std::string_view cut = first_characters(text, static_cast<std::size_t>(length - end_size));
  if (!arguments.is_true(1)) cut = cut.substr(0, cut.rfind(' '));
  return text_value(std::string(cut) + end);
}

}  // namespace treaty::templates::filters
