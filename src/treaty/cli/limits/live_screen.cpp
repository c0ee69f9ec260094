#include "treaty/cli/limits/live_screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

constexpr std::string_view kHideCursor = "\x1b[?25l";
constexpr std::string_view kShowCursor = "\x1b[?25h";
// A line that is wider than it was taken for is cut by the terminal, and does not move the others.
constexpr std::string_view kStopWrapping = "\x1b[?7l";
constexpr std::string_view kWrap = "\x1b[?7h";
constexpr std::string_view kClearRestOfLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

}  // namespace

ScreenSize screen_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.width = size.ws_col, .height = size.ws_row};
}

bool stdout_is_screen() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string frame_text(std::span<const std::string> lines, std::size_t lines_before) {
  std::string out(kStopWrapping);
  if (lines_before > 0) out += fmt::format("\r\x1b[{}A", lines_before);
  for (const std::string& line : lines) out += fmt::format("{}{}\n", line, kClearRestOfLine);
  return out + fmt::format("{}{}", kClearBelow, kWrap);
}

void LiveScreen::draw(std::span<const std::string> lines) {
  print("{}", frame_text(lines, drawn_));
  std::fflush(stdout);
  drawn_ = lines.size();
}

void LiveScreen::put_aside() {
  print("\r{}{}", kClearRestOfLine, kShowCursor);  // The keys that were pressed are on the screen.
  std::fflush(stdout);
}

void LiveScreen::take_up() {
  drawn_ = 0;
  print("{}", kHideCursor);
}

}  // namespace treaty::cli::limits_watch
