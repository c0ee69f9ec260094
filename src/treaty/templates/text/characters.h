// Texts as sequences of code points. A byte that is not UTF-8 counts as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace treaty::templates {

// The bytes of the first character; empty for an empty text.
std::string_view first_character(std::string_view text);
std::string_view last_character(std::string_view text);

std::size_t character_count(std::string_view text);

// At most the first `count` characters.
std::string_view first_characters(std::string_view text, std::size_t count);

// Without white space, that of Unicode too, at the beginning and at the end.
std::string_view without_leading_space(std::string_view text);
std::string_view without_trailing_space(std::string_view text);
std::string_view without_space_around(std::string_view text);

// Upper and lower case for the letters of all scripts, by the tables of Unicode.

std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);

// One character as the first of a word.
std::string title_case(std::string_view character);

// Letters `first` to `last`, each `step` apart, whose other case is `distance` away.
struct CaseRange {
  char32_t first;
  char32_t last;
  char32_t step;
  std::int32_t distance;
};

// In order, none over another.
std::span<const CaseRange> upper_case_ranges();
std::span<const CaseRange> lower_case_ranges();

}  // namespace treaty::templates
