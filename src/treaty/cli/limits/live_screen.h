// Lines on a terminal that are drawn again and again in the same place.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace treaty::cli::limits_watch {

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
