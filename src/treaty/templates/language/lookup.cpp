#include "treaty/templates/language/lookup.h"

#include <algorithm>
#include <charconv>

#include "treaty/base/text.h"
#include "treaty/templates/language/operations.h"

namespace treaty::templates::language {
namespace {

const Dynamic* member_of(const Dynamic* object, std::string_view name) {
  return object != nullptr && object->is_object() ? object->get_object().if_contains(name)
                                                  : nullptr;
}

// What is part of something borrowed is borrowed; of something of our own it is taken out.
Operand part_of(Operand& whole, const Dynamic& part) {
  if (!whole.is_own()) return Operand::borrowed(part);
  return Operand(Dynamic(part));
}

std::optional<std::int64_t> position_of(std::string_view text) {
  std::int64_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return position;
}

}  // namespace

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
    if (const auto position = position_of(name); position && at->is_array()) {
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
