#include "treaty/contracts/text/shapes.h"

#include <algorithm>
#include <optional>
#include <string>

#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

constexpr std::size_t kFarthest = 60;  // Characters that `*` passes over.

bool is_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The part of `alternatives` before the next bar; takes it and the bar away.
std::string_view take_alternative(std::string_view& alternatives) {
  const std::size_t bar = std::min(alternatives.find('|'), alternatives.size());
  const std::string_view first = alternatives.substr(0, bar);
  alternatives.remove_prefix(std::min(bar + 1, alternatives.size()));
  return first;
}

// The group at the beginning of `shape`, without its brackets.
std::string_view group_of(std::string_view shape) { return shape.substr(1, shape.find(')') - 1); }

// Where a match that begins at `at` ends; nothing when there is none.
std::optional<std::size_t> match(std::string_view shape, std::string_view text, std::size_t at);

std::optional<std::size_t> match_group(std::string_view shape, std::string_view text,
                                       std::size_t at) {
  std::string_view alternatives = group_of(shape);
  const std::string_view rest = shape.substr(alternatives.size() + 2);
  std::size_t left = static_cast<std::size_t>(std::ranges::count(alternatives, '|')) + 1;
  for (; left > 0; --left) {
    const auto end = match(take_alternative(alternatives), text, at);
    const auto all = end ? match(rest, text, *end) : std::nullopt;
    if (all) return all;
  }
  return std::nullopt;
}

std::optional<std::size_t> match_after_gap(std::string_view rest, std::string_view text,
                                           std::size_t at) {
  for (std::size_t gap = 0; gap <= kFarthest && at + gap <= text.size(); ++gap) {
    if (const auto end = match(rest, text, at + gap)) return end;
    if (at + gap < text.size() && text[at + gap] == '\n') break;
  }
  return std::nullopt;
}

// How much of the text one character of a shape takes; nothing when it does not fit.
std::optional<std::size_t> match_one(char wanted, std::string_view text, std::size_t at) {
  const auto run = [&](auto test) -> std::optional<std::size_t> {
    const std::size_t size = run_length(text, at, test);
    return size == 0 ? std::nullopt : std::optional(size);
  };
  const bool ends = at == text.size();
  switch (wanted) {
    case ' ': return run(is_white);
    case '#': return run(is_digit);
    case '@': return run(is_word_character);
    case '<': return begins_word(text, at) ? std::optional<std::size_t>(0) : std::nullopt;
    case '>':
      return ends || !is_word_character(text[at]) ? std::optional<std::size_t>(0) : std::nullopt;
    default: break;
  }
  if (ends) return std::nullopt;
  const bool fits = text[at] == wanted || (is_lower(wanted) && to_lower(text[at]) == wanted) ||
                    (wanted == '-' && text[at] == '_');
  return fits ? std::optional<std::size_t>(1) : std::nullopt;
}

std::optional<std::size_t> match(std::string_view shape, std::string_view text, std::size_t at) {
  while (!shape.empty()) {
    if (shape[0] == '(') return match_group(shape, text, at);
    if (shape[0] == '*') return match_after_gap(shape.substr(1), text, at);
    if (shape[0] == '\\') {
      if (at == text.size() || text[at] != shape[1]) return std::nullopt;
      shape.remove_prefix(2);
      ++at;
      continue;
    }
    const auto size = match_one(shape[0], text, at);
    if (!size) return std::nullopt;
    at += *size;
    shape.remove_prefix(1);
  }
  return at;
}

// The bytes that one character of a shape stands for; all of them when that is not a matter of one.
std::string bytes_of(std::string_view shape) {
  std::string bytes;
  const auto add_all = [&](auto test) {
    for (int byte = 0; byte < 256; ++byte) {
      if (test(static_cast<char>(byte))) bytes.push_back(static_cast<char>(byte));
    }
  };
  switch (shape.empty() ? '*' : shape[0]) {
    case ' ': add_all(is_white); return bytes;
    case '#': add_all(is_digit); return bytes;
    case '@': add_all(is_word_character); return bytes;
    case '*':
    case '<':
    case '>': add_all([](char) { return true; }); return bytes;
    case '\\': return std::string(shape.substr(1, 1));
    default: break;
  }
  bytes.push_back(shape[0]);
  if (is_lower(shape[0])) bytes.push_back(static_cast<char>(shape[0] - 'a' + 'A'));
  if (shape[0] == '-') bytes.push_back('_');
  return bytes;
}

// The shape with each alternative of the group that it begins with, or the shape alone.
std::vector<std::string> without_first_group(std::string_view shape) {
  if (!shape.starts_with('(')) return {std::string(shape)};
  std::vector<std::string> all;
  std::string_view alternatives = group_of(shape);
  const std::string_view rest = shape.substr(alternatives.size() + 2);
  std::size_t left = static_cast<std::size_t>(std::ranges::count(alternatives, '|')) + 1;
  for (; left > 0; --left) {
    all.push_back(std::string(take_alternative(alternatives)) + std::string(rest));
  }
  return all;
}

std::vector<std::string_view> all_shapes(std::span<const ShapeCategory> categories) {
  std::vector<std::string_view> all;
  for (const ShapeCategory& category : categories) {
    all.insert(all.end(), category.shapes.begin(), category.shapes.end());
  }
  return all;
}

bool is_run(char c) { return c == ' ' || c == '#' || c == '@'; }

}  // namespace

ShapeSet::ShapeSet(std::span<const std::string_view> shapes)
    : shapes_(shapes.begin(), shapes.end()), second_bytes_(shapes.size()) {
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const bool at_word = shapes_[i].starts_with('<');
    note_prefixes(shapes_[i].substr(at_word ? 1 : 0), i, at_word);
  }
}

void ShapeSet::note_prefixes(std::string_view shape, std::size_t index, bool at_word) {
  for (const std::string& one : without_first_group(shape)) {
    const std::string_view after = std::string_view(one).substr(one[0] == '\\' ? 2 : 1);
    std::string seconds;
    for (const std::string& next : without_first_group(after)) {
      seconds += is_run(one[0]) ? bytes_of("*") : bytes_of(next);
    }
    for (const char first : bytes_of(one)) {
      auto& listed = by_first_byte_[static_cast<unsigned char>(first)];
      if (listed.empty() || listed.back() != index) {
        listed.push_back(static_cast<std::uint16_t>(index));
      }
      for (const char second : seconds) {
        const std::size_t pair = static_cast<std::size_t>(static_cast<unsigned char>(first)) << 8U |
                                 static_cast<unsigned char>(second);
        second_bytes_[index].set(static_cast<unsigned char>(second));
        pairs_.set(pair);
        if (!at_word) anywhere_.set(pair);
      }
    }
  }
}

std::optional<ShapeSet::Match> ShapeSet::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at < text.size(); ++at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : '\0');
    const std::size_t pair = static_cast<std::size_t>(first) << 8U | second;
    if (!pairs_.test(pair) || (!begins_word(text, at) && !anywhere_.test(pair))) continue;
    for (const std::uint16_t i : by_first_byte_[first]) {
      if (!second_bytes_[i].test(second)) continue;
      if (const auto end = match(shapes_[i], text, at)) return Match{at, *end, i};
    }
  }
  return std::nullopt;
}

bool ShapeSet::begins(std::string_view text) const {
  return std::ranges::any_of(
      shapes_, [&](std::string_view shape) { return match(shape, text, 0).has_value(); });
}

ShapeCategories::ShapeCategories(std::span<const ShapeCategory> categories)
    : categories_(categories), set_(all_shapes(categories)) {}

std::string_view ShapeCategories::find(std::string_view text) const {
  const auto match = set_.find(text);
  if (!match) return {};
  std::size_t before = 0;
  for (const ShapeCategory& category : categories_) {
    before += category.shapes.size();
    if (match->shape < before) return category.shows;
  }
  return {};
}

}  // namespace treaty::contracts
