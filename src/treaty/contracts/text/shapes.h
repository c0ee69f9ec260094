// Shapes: small patterns for pieces of text, to find them in texts of any size. A search takes time
// in proportion to the text.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace treaty::contracts {

// A set of shapes that is looked for in one pass. In a shape
//
//   a        a lower-case letter is that letter in either case,
//   -        a hyphen or an underscore,
//   A        everything else is itself,
//   (space)  one or more white-space characters,
//   #        one or more digits,
//   @        one or more letters, digits and underscores,
//   *        up to 60 characters of the same line, as few as will do; once in a shape,
//   (a|b|)   one of these,
//   <  >     a place where no word runs on to the left, or to the right,
//   \        takes the character after it as it is.
//
// A shape begins with a character, `#` or a group, or with `<` and one of these.
class ShapeSet {
 public:
  explicit ShapeSet(std::span<const std::string_view> shapes);

  struct Match {
    std::size_t begin;
    std::size_t end;
    std::size_t shape;  // Its place in the list.
  };

  // The first match that begins at `from` or later; of several there, the first shape's.
  std::optional<Match> find(std::string_view text, std::size_t from = 0) const;
  bool is_in(std::string_view text) const { return find(text).has_value(); }

  // Whether `text` begins with one of them.
  bool begins(std::string_view text) const;

 private:
  // Two bytes that a shape can begin with: most places have none.
  using Pairs = std::bitset<1U << 16U>;

  void note_prefixes(std::string_view shape, std::size_t index, bool at_word);

  std::vector<std::string_view> shapes_;
  // Which of them can begin with a byte, and which bytes can be the second of each.
  std::array<std::vector<std::uint16_t>, 256> by_first_byte_;
  std::vector<std::bitset<256>> second_bytes_;
  // Of all shapes, and of those that need not begin where a word does.
  Pairs pairs_;
  Pairs anywhere_;
};

// What the shapes of a list show, for a message: "a model id".
struct ShapeCategory {
  std::string_view shows;
  std::span<const std::string_view> shapes;
};

// Shapes of several categories, looked for in one pass.
class ShapeCategories {
 public:
  // The categories outlive the object.
  explicit ShapeCategories(std::span<const ShapeCategory> categories);

  // What the first match shows; empty when there is none.
  std::string_view find(std::string_view text) const;

 private:
  std::span<const ShapeCategory> categories_;
  ShapeSet set_;
};

}  // namespace treaty::contracts
