// Texts as sequences of code points. A byte that is not UTF-8 counts as one.
#pragma once

#include <cstddef>
#include <cstdint>
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

}  // namespace treaty::templates
