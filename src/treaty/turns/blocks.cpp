#include "treaty/turns/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "treaty/base/text.h"

namespace treaty::turns {
namespace {

// More digits than a number needs that no text of a request can use up.
constexpr std::size_t kMostDigits = 9;

// Every number that is written right behind `at`: of 123 also 1 and 12.
void add_numbers(std::vector<std::uint32_t>& numbers, std::string_view text, std::size_t at) {
  std::uint32_t number = 0;
  const std::size_t digits = run_length(text, at, is_digit, kMostDigits);
  for (std::size_t i = 0; i < digits; ++i) {
    number = number * 10 + static_cast<std::uint32_t>(text[at + i] - '0');
    if (number == 0) return;  // No number of ours begins with a zero.
    numbers.push_back(number);
  }
}

// U+0085, U+2028 and U+2029 break lines, too, for some.
bool breaks_line(char32_t c) { return c == 0x85 || c == 0x2028 || c == 0x2029; }

void append_value(std::string& out, std::string_view value) {
  while (!value.empty()) {
    const CodePoint next = read_code_point(value);
    const std::size_t length = std::max<std::size_t>(next.length, 1);
    switch (next.value) {
      case U'"': out += "&quot;"; break;
      case U'<': out += "&lt;"; break;
      case U'>': out += "&gt;"; break;
      case U'&': out += "&amp;"; break;
      default:
        if (next.value < 0x20 || next.value == 0x7F || breaks_line(next.value)) {
          fmt::format_to(std::back_inserter(out), "&#{};", static_cast<std::uint32_t>(next.value));
        } else {
          out.append(value.substr(0, length));
        }
    }
    value.remove_prefix(length);
  }
}

void append_head(std::string& out, const Tag& tag, std::span<const Attribute> attributes) {
  fmt::format_to(std::back_inserter(out), "<{}-{}", tag.word, tag.number);
  for (const Attribute& attribute : attributes) {
    fmt::format_to(std::back_inserter(out), " {}=\"", attribute.name);
    append_value(out, attribute.value);
    out.push_back('"');
  }
}

}  // namespace

std::uint32_t free_number(std::span<const std::string_view> words,
                          std::span<const std::string_view> texts) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view word : words) {
    const std::string beginning = fmt::format("{}-", word);
    for (const std::string_view text : texts) {
      for (std::size_t at = text.find(beginning); at != std::string_view::npos;
           at = text.find(beginning, at + 1)) {
        add_numbers(numbers, text, at + beginning.size());
      }
    }
  }
  std::ranges::sort(numbers);
  std::uint32_t free = 1;
  for (const std::uint32_t number : numbers) {
    if (number == free) ++free;
  }
  return free;
}

void append_block(std::string& out, const Tag& tag, std::span<const Attribute> attributes,
                  std::string_view contents) {
  append_head(out, tag, attributes);
  out += ">\n";
  out += contents;
  fmt::format_to(std::back_inserter(out), "\n</{}-{}>\n", tag.word, tag.number);
}

void append_mark(std::string& out, const Tag& tag, std::span<const Attribute> attributes) {
  append_head(out, tag, attributes);
  out += "/>\n";
}

}  // namespace treaty::turns
