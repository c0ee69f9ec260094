#include "treaty/machines/reading/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/text.h"

namespace treaty::machines {
namespace {

using yaml::Kind;
using yaml::Node;

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::null: return "nothing";
    case Kind::boolean: return "a boolean";
    case Kind::integer: return "an integer";
    case Kind::decimal: return "a number";
    case Kind::string: return "a text";
    case Kind::list: return "a list";
    case Kind::map: return "a mapping";
  }
  return "";
}

// What stands there, as far as it helps.
std::string found_text(const Node& node) {
  if (node.kind == Kind::null || !node.is_scalar()) return std::string(kind_name(node.kind));
  return fmt::format("{} {}", kind_name(node.kind), quote(node.text));
}

std::string range_text(double least, double most) {
  return std::isinf(most) ? fmt::format("at least {}", least)
                          : fmt::format("from {} to {}", least, most);
}

}  // namespace

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  if (text.size() <= kLongest) return fmt::format("'{}'", text);
  return fmt::format("'{}…'", utf8_prefix(text, kLongest));
}

std::string hint_nearest(std::span<const std::string_view> names, std::string_view word) {
  constexpr std::size_t kMost = 1000;  // Nobody looks through more of them for a typing error.
  const std::string_view meant = names.size() <= kMost ? closest(names, word) : "";
  return meant.empty() ? "" : fmt::format("did you mean {}?", quote(meant));
}

std::string hint_nearest(const Names& names, std::string_view word) {
  return hint_nearest(std::vector<std::string_view>(names.begin(), names.end()), word);
}

Dynamic to_value(const Node& node) {
  switch (node.kind) {
    case Kind::null: return nullptr;
    case Kind::boolean: return node.boolean;
    case Kind::integer: return node.integer;
    case Kind::decimal: return node.decimal;
    case Kind::string: return Dynamic(node.text);
    case Kind::list: {
      List list;
      list.reserve(node.items.size());
      for (const Node& item : node.items) list.push_back(to_value(item));
      return list;
    }
    case Kind::map: break;
  }
  Object object;
  object.reserve(node.members.size());
  for (const auto& [key, value] : node.members) object[key.text] = to_value(value);
  return object;
}

void Reader::wrong(const Place& place, std::string_view what, std::string_view expected) {
  findings.violate("MCH-05", place,
                   fmt::format("{} is {}, found {}", what, expected, found_text(place.value())));
}

std::optional<std::string> Reader::text(const Place& place, std::string_view what) {
  if (place.kind() == Kind::string) return place.value().text;
  wrong(place, what, "a text");
  return std::nullopt;
}

std::optional<bool> boolean_in(const Node& node) {
  if (node.kind == Kind::boolean) return node.boolean;
  if (node.kind != Kind::string) return std::nullopt;
  // The original reads YAML 1.1, which has more words for them.
  const std::string word = folded(node.text);
  if (word == "yes" || word == "on") return true;
  if (word == "no" || word == "off") return false;
  return std::nullopt;
}

std::optional<bool> Reader::boolean(const Place& place, std::string_view what) {
  const auto found = boolean_in(place.value());
  if (!found) wrong(place, what, "true or false");
  return found;
}

std::optional<std::int64_t> Reader::integer(const Place& place, std::string_view what,
                                            std::int64_t least, std::int64_t most) {
  const Node& node = place.value();
  // 3.0 is three.
  const bool is_whole = node.kind == Kind::decimal && std::abs(node.decimal) < 1e15 &&
                        std::trunc(node.decimal) == node.decimal;
  if (node.kind == Kind::integer || is_whole) {
    const std::int64_t value = is_whole ? static_cast<std::int64_t>(node.decimal) : node.integer;
    if (value >= least && value <= most) return value;
    wrong(place, what, fmt::format("an integer from {} to {}", least, most));
  } else {
    wrong(place, what, fmt::format("an integer, {} or more", least));
  }
  return std::nullopt;
}

std::optional<double> Reader::number(const Place& place, std::string_view what, double least,
                                     double most) {
  const Node& node = place.value();
  const bool is_number = node.kind == Kind::integer || node.kind == Kind::decimal;
  if (is_number && node.decimal >= least && node.decimal <= most) return node.decimal;
  wrong(place, what, fmt::format("a number, {}", range_text(least, most)));
  return std::nullopt;
}

std::optional<std::size_t> Reader::word(const Place& place, std::string_view what,
                                        std::span<const std::string_view> words) {
  const Node& node = place.value();
  if (node.is_scalar()) {
    const auto found = std::ranges::find(words, node.text);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  }
  findings.violate(
      "MCH-05", place,
      fmt::format("{} is {}, found {}", what, fmt::join(words, " or "), found_text(node)),
      findings.is_full() ? "" : hint_nearest(words, node.text));
  return std::nullopt;
}

bool Reader::is_map(const Place& place, std::string_view what) {
  if (place.kind() == Kind::map) return true;
  wrong(place, what, "a mapping");
  return false;
}

bool Reader::is_list(const Place& place, std::string_view what) {
  if (place.kind() == Kind::list) return true;
  wrong(place, what, "a list");
  return false;
}

std::optional<std::string> Reader::name(const Place& place, std::string_view what,
                                        const Names& known, std::string_view rule) {
  const Node& node = place.value();
  if (node.kind != Kind::null && node.is_scalar() && known.contains(node.text)) return node.text;
  if (node.kind != Kind::string) {
    wrong(place, what, "a name");
    return std::nullopt;
  }
  if (findings.is_full()) {
    findings.violate(rule, place, "");
    return std::nullopt;
  }
  std::string hint = hint_nearest(known, node.text);
  if (hint.empty() && !known.empty() && known.size() <= 12) {
    hint = fmt::format("there are: {}", fmt::join(known, ", "));
  }
  findings.violate(rule, place,
                   fmt::format("{} names {}, which is not there", what, quote(node.text)),
                   std::move(hint));
  return std::nullopt;
}

void Reader::refuse_unknown_keys(const Place& map, std::string_view what,
                                 std::span<const std::string_view> known) {
  for (const auto& member : map.value().members) {
    const std::string& key = member.first.text;
    if (std::ranges::find(known, key) != known.end()) continue;
    const Place place = map.member(member);
    if (findings.is_full()) {
      findings.violate("MCH-04", place, "");
      continue;
    }
    std::string hint = hint_nearest(known, key);
    if (hint.empty()) hint = fmt::format("it may have {}", fmt::join(known, ", "));
    findings.violate("MCH-04", place, fmt::format("{} has no key {}", what, quote(key)),
                     std::move(hint));
  }
}

std::optional<Place> Place::find(std::string_view key) const& {
  for (const auto& pair : value_->members) {
    if (pair.first.text != key) continue;
    if (pair.second.kind == yaml::Kind::null) return std::nullopt;
    return member(pair);
  }
  return std::nullopt;
}

Place Place::nearest(std::string_view key) const& {
  for (const auto& pair : value_->members) {
    if (pair.first.text == key) return member(pair);
  }
  return *this;
}

void Place::append_pointer(std::string& out) const {
  if (parent_ == nullptr) return;
  parent_->append_pointer(out);
  json::append_pointer_token(out, key_ == nullptr ? std::to_string(index_) : key_->text);
}

std::string Place::pointer() const {
  std::string out;
  append_pointer(out);
  return out;
}

bool Findings::pin(const Place& name) {
  if (pinned_) return false;
  pinned_ = {name.line(), name.column()};
  return true;
}

void Findings::add(bool is_violation, std::string_view rule, const Place& place,
                   std::string message, std::string hint) {
  std::size_t& kept = is_violation ? violations_ : warnings_;
  if (kept >= kMostKept) {
    ++unlisted_;
    return;
  }
  std::string where = place.pointer();
  if (!seen_.emplace(rule, where).second) return;
  ++kept;
  const auto [line, column] = pinned_.value_or(std::pair(place.line(), place.column()));
  found_.push_back({.finding = {.rule = std::string(rule),
                                .where = std::move(where),
                                .line = line,
                                .column = column,
                                .message = std::move(message),
                                .hint = std::move(hint)},
                    .is_violation = is_violation,
                    .order = found_.size()});
}

void Findings::finish(std::string_view text, Loaded& loaded) {
  // Violations first: a list of warnings alone would not say why the file is refused.
  std::ranges::sort(found_, {}, [](const Found& found) {
    return std::tuple(!found.is_violation, found.finding.line, found.finding.column, found.order);
  });
  const std::size_t listed = std::min(found_.size(), kMostListed);
  for (Found& found : std::span(found_).first(listed)) {
    auto& list = found.is_violation ? loaded.violations : loaded.warnings;
    list.push_back(std::move(found.finding));
  }
  loaded.more = found_.size() - listed + unlisted_;
  settle_places(text, loaded.violations);
  settle_places(text, loaded.warnings);
}

void settle_places(std::string_view text, std::vector<Diagnostic>& findings) {
  std::size_t at = 0;
  int line = 1;
  std::size_t line_begin = 0;
  int characters = 0;  // Between the beginning of the line and `at`.
  for (Diagnostic& finding : findings) {
    for (; line < finding.line && at < text.size(); ++at) {
      if (text[at] != '\n') continue;
      ++line;
      line_begin = at + 1;
      characters = 0;
    }
    const std::size_t end = line_begin + static_cast<std::size_t>(finding.column) - 1;
    for (; at < std::min(end, text.size()) && text[at] != '\n'; ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U) ++characters;
    }
    finding.line = line;
    finding.column = characters + 1;
    finding.offset = at;
  }
}

}  // namespace treaty::machines
