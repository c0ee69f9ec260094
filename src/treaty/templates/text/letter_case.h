// Upper and lower case for the letters of all scripts, by the tables of Unicode.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace treaty::templates {

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
