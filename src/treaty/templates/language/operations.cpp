#include "treaty/templates/language/operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::language {
namespace {

using boost::json::kind;

std::string cannot(std::string_view what, std::string_view joint, const Dynamic& left,
                   const Dynamic& right) {
  return fmt::format("cannot {} {} {} {}", what, kind_name(left), joint, kind_name(right));
}

bool is_whole(const Dynamic& value) { return value.is_bool() || value.is_int64(); }
bool is_sequence(const Dynamic& value) { return value.is_string() || value.is_array(); }

std::expected<bool, std::string> is_key(const Object& object, const Dynamic& element) {
  if (element.is_string()) return object.contains(element.get_string());
  if (element.is_structured()) {
    return std::unexpected(fmt::format("{} cannot be a key", kind_name(element)));
  }
  return false;
}

const Dynamic* member_of(const Dynamic* object, std::string_view name) {
  return object != nullptr && object->is_object() ? object->get_object().if_contains(name)
                                                  : nullptr;
}

// What is part of something borrowed is borrowed; of something of our own it is taken out.
Operand part_of(Operand& whole, const Dynamic& part) {
  if (!whole.is_own()) return Operand::borrowed(part);
  return Operand(Dynamic(part));
}

}  // namespace

std::string_view kind_name(const Dynamic& value) {
  switch (value.kind()) {
    case kind::null: return "null";
    case kind::bool_: return "a boolean";
    case kind::int64:
    case kind::uint64:
    case kind::double_: return "a number";
    case kind::string: return "a string";
    case kind::array: return "a list";
    case kind::object: return "an object";
  }
  return "";
}

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  const std::string_view cut = utf8_prefix(name, kLongest);
  return fmt::format("'{}{}'", cut, cut.size() < name.size() ? "…" : "");
}

std::expected<std::partial_ordering, std::string> ordering(const Dynamic& left,
                                                           const Dynamic& right) {
  if (left.is_string() && right.is_string()) {
    // The order of UTF-8 is that of its code points.
    return std::string_view(left.get_string()) <=> std::string_view(right.get_string());
  }
  const auto number = numeric_of(left);
  const auto other = numeric_of(right);
  if (number && other) return order(*number, *other);
  return std::unexpected(cannot("compare", "with", left, right));
}

std::expected<bool, std::string> contains(const Dynamic& container, const Dynamic& element) {
  switch (container.kind()) {
    case kind::array:
      return std::ranges::any_of(container.get_array(),
                                 [&](const Dynamic& item) { return are_equal(item, element); });
    case kind::object: return is_key(container.get_object(), element);
    case kind::string:
      if (element.is_string()) {
        return std::string_view(container.get_string()).contains(element.get_string());
      }
      return std::unexpected(cannot("look for", "in", element, container));
    default: return std::unexpected(cannot("look for", "in", element, container));
  }
}

Result add(Operand left, const Dynamic& right) {
  if (left->is_string() && right.is_string()) {
    if (left->get_string().size() + right.get_string().size() > kLargestText) {
      return std::unexpected("the text is too long");
    }
    Dynamic sum = std::move(left).take();
    sum.get_string().append(right.get_string());
    return sum;
  }
  if (left->is_array() && right.is_array()) {
    if (left->get_array().size() + right.get_array().size() > kLongestList) {
      return std::unexpected("the list is too long");
    }
    Dynamic sum = std::move(left).take();
    List& list = sum.get_array();
    list.insert(list.end(), right.get_array().begin(), right.get_array().end());
    return sum;
  }
  const auto number = numeric_of(*left);
  const auto other = numeric_of(right);
  if (!number || !other) return std::unexpected(cannot("add", "and", *left, right));
  return calculate(Arithmetic::add, *number, *other);
}

Result calculate(Arithmetic operation, const Dynamic& left, const Dynamic& right) {
  const auto number = numeric_of(left);
  const auto other = numeric_of(right);
  if (number && other) return calculate(operation, *number, *other);
  return std::unexpected(fmt::format("'{}' is for numbers, not for {} and {}", symbol_of(operation),
                                     kind_name(left), kind_name(right)));
}

bool can_repeat(const Dynamic& left, const Dynamic& right) {
  return (is_sequence(left) && is_whole(right)) || (is_whole(left) && is_sequence(right));
}

Result repeated(const Dynamic& left, const Dynamic& right) {
  const Dynamic& sequence = is_sequence(left) ? left : right;
  const auto times = numeric_of(is_sequence(left) ? right : left);
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(times->whole, 0));
  const std::size_t size =
      sequence.is_string() ? sequence.get_string().size() : sequence.get_array().size();
  if (size > 0 && count > (sequence.is_string() ? kLargestText : kLongestList) / size) {
    return std::unexpected(
        fmt::format("{} repeated {} times is too long", kind_name(sequence), count));
  }
  if (sequence.is_string()) {
    boost::json::string text;
    text.reserve(size * count);
    for (std::uint64_t i = 0; size > 0 && i < count; ++i) text.append(sequence.get_string());
    return Dynamic(std::move(text));
  }
  List list;
  const List& part = sequence.get_array();
  for (std::uint64_t i = 0; size > 0 && i < count; ++i) {
    list.insert(list.end(), part.begin(), part.end());
  }
  return Dynamic(std::move(list));
}

const Dynamic* element_at(const List& list, std::int64_t position) {
  const auto size = static_cast<std::int64_t>(list.size());
  const std::int64_t at = position < 0 ? position + size : position;
  return at >= 0 && at < size ? &list[static_cast<std::size_t>(at)] : nullptr;
}

std::string_view character_at(std::string_view text, std::int64_t position) {
  for (; position >= 0 && !text.empty(); --position) {
    const std::string_view first = first_character(text);
    if (position == 0) return first;
    text.remove_prefix(first.size());
  }
  for (; position < 0 && !text.empty(); ++position) {
    const std::string_view last = last_character(text);
    if (position == -1) return last;
    text.remove_suffix(last.size());
  }
  return {};
}

bool is_deeper(const Dynamic& value, std::size_t levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  if (value.is_array()) {
    return std::ranges::any_of(value.get_array(),
                               [&](const Dynamic& item) { return is_deeper(item, levels - 1); });
  }
  return std::ranges::any_of(value.get_object(), [&](const auto& member) {
    return is_deeper(member.value(), levels - 1);
  });
}

const Dynamic* find_bound(const Scope& scope, std::string_view name) {
  const auto found = std::ranges::find(scope.bound, name, &Binding::name);
  return found == scope.bound.end() ? nullptr : found->value;
}

const Dynamic* value_of(const Scope& scope, Root root) {
  switch (root) {
    case Root::context: return scope.context;
    case Root::input: return scope.input;
    case Root::output: return scope.output;
    case Root::result: return scope.result;
    case Root::other: break;
  }
  return nullptr;
}

const Dynamic* find_input(const Scope& scope, std::string_view name) {
  if (scope.context_over_input) {
    if (const Dynamic* found = member_of(scope.context, name)) return found;
  }
  return member_of(scope.input, name);
}

Operand whole_input(const Scope& scope) {
  if (scope.input != nullptr && !scope.input->is_object() && !scope.input->is_null()) {
    return Operand::borrowed(*scope.input);
  }
  Object whole;
  if (scope.input != nullptr && scope.input->is_object()) whole = scope.input->get_object();
  if (scope.context != nullptr && scope.context->is_object()) {
    for (const auto& member : scope.context->get_object()) {
      whole.insert_or_assign(member.key(), member.value());
    }
  }
  return Operand(std::move(whole));
}

std::optional<Operand> member_of(Operand object, std::string_view name) {
  const Dynamic* found = object->get_object().if_contains(name);
  if (found == nullptr) return std::nullopt;
  return part_of(object, *found);
}

std::optional<Operand> element_of(Operand sequence, std::int64_t position) {
  if (const auto* list = sequence->if_array()) {
    const Dynamic* found = element_at(*list, position);
    if (found == nullptr) return std::nullopt;
    return part_of(sequence, *found);
  }
  if (const auto* text = sequence->if_string()) {
    const std::string_view found = character_at(*text, position);
    if (found.empty()) return std::nullopt;
    return Operand(boost::json::string(found));
  }
  return std::nullopt;
}

Operand at_path(const Dynamic& value, std::string_view path) {
  const Dynamic* at = &value;
  while (true) {
    const std::string_view name = path.substr(0, path.find('.'));
    const Dynamic* next = member_of(at, name);
    if (const auto position = parse_number<std::int64_t>(name); position && at->is_array()) {
      next = element_at(at->get_array(), *position);
    }
    if (next == nullptr) return Operand::undefined("");
    if (name.size() == path.size()) return Operand::borrowed(*next);
    at = next;
    path.remove_prefix(name.size() + 1);
  }
}

std::string print_operand(const Operand& operand) {
  return operand.is_undefined() ? std::string() : print(*operand);
}

}  // namespace treaty::templates::language
