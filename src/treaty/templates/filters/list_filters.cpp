#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "treaty/base/try.h"
#include "treaty/templates/filters/filters.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/text/characters.h"

namespace treaty::templates::filters {
namespace {

using language::kind_name;
using language::kLargestText;
using language::kLongestList;

constexpr std::string_view kNoName;

// By what an item is judged: itself, or what the attribute names in it.
Operand key_of(const Dynamic& item, const Arguments& arguments, std::size_t attribute) {
  if (!arguments.has(attribute) || arguments[attribute]->is_null()) return Operand::borrowed(item);
  return language::at_path(item, print(*arguments[attribute]));
}

struct Keyed {
  const Dynamic* item;
  Operand key;
};

// Strings without regard to case, unless that is asked for.
std::expected<std::vector<Keyed>, std::string> keyed(const List& list, const Arguments& arguments,
                                                     bool by_case, std::size_t attribute) {
  std::vector<Keyed> out;
  out.reserve(list.size());
  for (const Dynamic& item : list) {
    Operand key = key_of(item, arguments, attribute);
    if (key.is_undefined())
      return std::unexpected("an item has no such attribute to be ordered by");
    if (!by_case && key->is_string()) {
      key = Operand(boost::json::string(lower_case(key->get_string())));
    }
    out.push_back({&item, std::move(key)});
  }
  return out;
}

// All of one kind, so that sorting need not stop in the middle.
std::expected<void, std::string> check_comparable(const std::vector<Keyed>& items) {
  for (std::size_t at = 1; at < items.size(); ++at) {
    TREATY_TRY_VOID(language::ordering(*items[0].key, *items[at].key));
  }
  return {};
}

bool is_before(const Keyed& left, const Keyed& right) {
  return *language::ordering(*left.key, *right.key) < 0;
}

Result extreme(Operand input, const Arguments& arguments, bool is_largest) {
  TREATY_TRY(const Operand items, items_of(std::move(input)));
  TREATY_TRY(const auto candidates, keyed(items->get_array(), arguments, arguments.is_true(0), 1));
  if (candidates.empty()) return Operand::undefined(kNoName);
  TREATY_TRY_VOID(check_comparable(candidates));
  const Keyed* best = &candidates.front();
  for (const Keyed& candidate : candidates) {
    if (is_largest ? is_before(*best, candidate) : is_before(candidate, *best)) best = &candidate;
  }
  return Dynamic(*best->item);
}

// The item at that position: 0 or -1.
Result end_of(Operand input, std::int64_t position) {
  if (const auto* text = input->if_string()) {
    if (text->empty()) return Operand::undefined(kNoName);
    return Dynamic(boost::json::string(language::character_at(*text, position)));
  }
  TREATY_TRY(const Operand items, items_of(std::move(input)));
  const Dynamic* found = language::element_at(items->get_array(), position);
  return found == nullptr ? Operand::undefined(kNoName) : Operand(Dynamic(*found));
}

std::unexpected<std::string> no_items(const Operand& operand) {
  return std::unexpected(fmt::format("{} has no items", kind_name(*operand)));
}

}  // namespace

Result items_of(Operand operand) {
  if (operand->is_array()) return operand;
  List items;
  if (const auto* text = operand->if_string()) {
    std::string_view rest = *text;
    for (; !rest.empty(); rest.remove_prefix(first_character(rest).size())) {
      if (items.size() == kLongestList) return std::unexpected("the text has too many characters");
      items.emplace_back(boost::json::string(first_character(rest)));
    }
  } else if (const auto* object = operand->if_object()) {
    for (const auto& member : *object) items.emplace_back(member.key());
  } else if (!operand.is_undefined()) {
    return no_items(operand);
  }
  return Operand(std::move(items));
}

Result to_list(Operand&& input, const Arguments&) { return items_of(std::move(input)); }

Result join(Operand&& input, const Arguments& arguments) {
  TREATY_TRY(const Operand items, items_of(std::move(input)));
  const std::string between = arguments.has(0) ? language::print_operand(arguments[0]) : "";
  std::string out;
  bool is_first = true;
  for (const Dynamic& item : items->get_array()) {
    if (!is_first) out += between;
    is_first = false;
    const Operand key = key_of(item, arguments, 1);
    if (!key.is_undefined()) append_printed(out, *key);
    if (out.size() > kLargestText) return std::unexpected("the text is too long");
  }
  return Dynamic(boost::json::string(out));
}

Result first(Operand&& input, const Arguments&) { return end_of(std::move(input), 0); }
Result last(Operand&& input, const Arguments&) { return end_of(std::move(input), -1); }

Result reverse(Operand&& input, const Arguments&) {
  if (const auto* text = input->if_string()) {
    std::string out;
    out.reserve(text->size());
    for (std::string_view rest = *text; !rest.empty();
         rest.remove_suffix(last_character(rest).size())) {
      out += last_character(rest);
    }
    return Dynamic(boost::json::string(out));
  }
  TREATY_TRY(Operand items, items_of(std::move(input)));
  Dynamic list = std::move(items).take();
  std::ranges::reverse(list.get_array());
  return list;
}

Result sort(Operand&& input, const Arguments& arguments) {
  TREATY_TRY(const Operand items, items_of(std::move(input)));
  TREATY_TRY(auto sorted, keyed(items->get_array(), arguments, arguments.is_true(1), 2));
  TREATY_TRY_VOID(check_comparable(sorted));
  const bool is_backwards = arguments.is_true(0);
  // Equal ones stay in their order, which is that of their places.
  std::ranges::sort(sorted, [&](const Keyed& left, const Keyed& right) {
    const auto order = *language::ordering(*left.key, *right.key);
    if (order == 0) return left.item < right.item;
    return (order < 0) != is_backwards;
  });
  List list;
  list.reserve(sorted.size());
  for (const Keyed& entry : sorted) list.push_back(*entry.item);
  return Operand(std::move(list));
}

Result smallest(Operand&& input, const Arguments& arguments) {
  return extreme(std::move(input), arguments, false);
}

Result largest(Operand&& input, const Arguments& arguments) {
  return extreme(std::move(input), arguments, true);
}

Result sum(Operand&& input, const Arguments& arguments) {
  TREATY_TRY(const Operand items, items_of(std::move(input)));
  Result total = arguments.has(1) ? Dynamic(*arguments[1]) : Dynamic(std::int64_t{0});
  for (const Dynamic& item : items->get_array()) {
    const Operand key = key_of(item, arguments, 0);
    if (key.is_undefined()) return std::unexpected("an item has no such attribute to be added");
    total = language::calculate(language::Arithmetic::add, **total, *key);
    if (!total) return total;
  }
  return total;
}

}  // namespace treaty::templates::filters
