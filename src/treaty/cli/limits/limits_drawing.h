// Limits as lines of a terminal: a bar for each window, and how long until it is full again.
#pragma once

#include <span>
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

// --- Lines on a terminal that are drawn again and again in the same place

struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 24;
};

// Of the terminal on stdout, as it is now.
ScreenSize screen_size();

// Whether stdout can be drawn on.
bool stdout_is_screen();

// What draws the lines over those that were there before. Pure.
std::string frame_text(std::span<const std::string> lines, std::size_t lines_before);

// The cursor is hidden as long as it lives, and while it is not put aside.
class LiveScreen {
 public:
  LiveScreen() { take_up(); }
  ~LiveScreen() { put_aside(); }
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  void draw(std::span<const std::string> lines);

  void put_aside();  // For a shell that takes over.
  void take_up();

 private:
  std::size_t drawn_ = 0;
};

}  // namespace treaty::cli::limits_watch
