// Fuzzes what `treaty limits watch` shows: whatever a server answers, no line is wider than the
// terminal, and none has anything that a terminal would obey. The first byte is the width.
#include <string>

#include "require.h"
#include "treaty/base/text.h"
#include "treaty/cli/limits/limits_drawing.h"

using namespace treaty;                     // NOLINT: a target is one file.
using namespace treaty::cli::limits_watch;  // NOLINT
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto view = parse_limits(fuzz::as_text(data, size).substr(1));
  if (!view) return 0;
  require(without_times(*view) == without_times(without_times(*view)));
  const Canvas canvas{.width = std::size_t{data[0]} + 1, .height = 20};
  const auto lines = draw_limits(*view, 1.5, canvas);
  require(!lines.empty() && lines.size() <= canvas.height);
  for (const std::string& line : lines) {
    require(is_utf8(line) && !has_control_character(line));
    require(fitted(line, canvas.width) == line);
  }
  for (const std::string& line : draw_limits(*view, 0, {.has_bars = false})) {
    require(!has_control_character(line));
  }
  return 0;
}
