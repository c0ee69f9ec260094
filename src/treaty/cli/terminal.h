// What people see on a terminal: colours, and foreign text that cannot play tricks.
#pragma once

#include <string>
#include <string_view>

namespace treaty::cli {

// Colours only on a terminal, and not with NO_COLOR.
bool stdout_has_colors();

enum class Color { plain, bold, red, yellow, green, blue };

// The text in the colour, or as it is when `colors` is false.
std::string painted(std::string_view text, Color color, bool colors);

// Foreign text on one line: control characters, tabs and bytes that are not UTF-8 become `?` or a
// space, so that every character takes one column.
std::string harmless(std::string_view text);

}  // namespace treaty::cli
