#include "treaty/cli/check/quoted_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"

namespace treaty::cli {
namespace {

constexpr std::size_t kWidest = 96;   // Characters of a line that are shown.
constexpr std::size_t kLeading = 40;  // Of them, before the caret.

// The place `count` characters after `at`, or before it, but not past the line.
std::size_t forward(std::string_view text, std::size_t at, std::size_t count) {
  for (; count > 0 && at < text.size() && text[at] != '\n'; --count) {
    at += std::max<std::size_t>(1, read_code_point(text.substr(at)).length);
  }
  return at;
}
std::size_t backward(std::string_view text, std::size_t at, std::size_t count) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  for (; count > 0 && at > 0 && text[at - 1] != '\n'; --count) {
    --at;
    while (at > 0 && continues(text[at])) --at;
  }
  return at;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string quoted_line(const Mark& mark, Color color, bool colors) {
  const std::string_view text = mark.text;
  const std::size_t offset = std::min(mark.offset, text.size());
  const bool cut = mark.column - 1 > kWidest - kLeading;
  const std::size_t begin = backward(text, offset, cut ? kLeading : mark.column - 1);
  const std::size_t end = forward(text, begin, kWidest);
  const bool whole = end == text.size() || text[end] == '\n';
  std::string_view shown = text.substr(begin, end - begin);
  if (whole && shown.ends_with('\r')) shown.remove_suffix(1);

  const std::size_t marked = std::min(offset + std::max<std::size_t>(1, mark.length), end);
  const std::size_t length =
      offset < marked ? count_characters(text.substr(offset, marked - offset)) : 1;
  const std::string marker = "^" + std::string(length > 1 ? length - 1 : 0, '~');
  const std::string number = std::to_string(mark.line);
  const std::size_t indent = count_characters(text.substr(begin, offset - begin)) + (cut ? 1 : 0);
  return fmt::format("  {} | {}{}{}\n  {} | {}{}{}\n", number, cut ? "…" : "", harmless(shown),
                     whole ? "" : "…", std::string(number.size(), ' '), std::string(indent, ' '),
                     painted(marker, color, colors),
                     mark.where.empty() ? "" : " " + harmless(mark.where));
}

std::string finding_text(const FindingText& finding, const Mark& mark, bool colors) {
  const Color color = finding.is_violation ? Color::red : Color::yellow;
  std::string out = fmt::format(
      "{}: {} {}\n",
      painted(fmt::format("{}:{}:{}", harmless(finding.file), mark.line, mark.column), Color::bold,
              colors),
      painted(fmt::format("{} {}:", finding.is_violation ? "error" : "warning", finding.rule),
              color, colors),
      harmless(finding.message));
  out += quoted_line(mark, color, colors);
  if (!finding.hint.empty()) {
    out += fmt::format("  {} {}\n", painted("hint:", Color::blue, colors), harmless(finding.hint));
  }
  return out;
}

}  // namespace treaty::cli
