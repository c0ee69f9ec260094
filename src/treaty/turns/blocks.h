// Tagged blocks around what others wrote, for a model to read. No text inside can end its block,
// begin another one or break out of a head.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace treaty::turns {

// `<word-number …>`. The number is one that no text around has after the word.
struct Tag {
  std::string_view word;
  std::uint32_t number = 1;
};

struct Attribute {
  std::string_view name;
  std::string_view value;  // Written so that it stays inside its quotes, on its line.
};

// The smallest number from 1 on that follows none of `words` and a hyphen in any of `texts`, not
// even as the beginning of a longer number. The same for the same texts.
std::uint32_t free_number(std::span<const std::string_view> words,
                          std::span<const std::string_view> texts);

// A head, the contents on lines of their own, and an end; nothing is added to the contents but the
// line break before the end.
void append_block(std::string& out, const Tag& tag, std::span<const Attribute> attributes,
                  std::string_view contents);

// A head that ends itself: something is there, but not shown.
void append_mark(std::string& out, const Tag& tag, std::span<const Attribute> attributes);

}  // namespace treaty::turns
