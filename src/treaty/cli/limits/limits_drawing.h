// Limits as lines of a terminal: a bar for each window, and how long until it is full again. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "treaty/cli/limits/limits_view.h"

namespace treaty::cli::limits_watch {

struct Canvas {
  std::size_t width = 80;   // Columns; no line is longer.
  std::size_t height = 0;   // Lines; 0: as many as there are.
  bool has_bars = true;     // Else a table: of any width.
  bool has_colors = false;  // Escape sequences for them.
};

// `elapsed`: seconds since the answer came; what counts down has gone on by them.
std::vector<std::string> draw_limits(const LimitsView& view, double elapsed, const Canvas& canvas);

// At most so many columns; what is cut ends with `…`.
std::string fitted(std::string_view text, std::size_t width);

// "12 s", "4 m 05 s", "3 h 12 m", "3 d 11 h".
std::string countdown_text(double seconds);

}  // namespace treaty::cli::limits_watch
