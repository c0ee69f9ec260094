#include <doctest/doctest.h>

#include <array>

#include "treaty/cli/limits/limits_drawing.h"

namespace treaty::cli::limits_watch {
namespace {

TEST_CASE("The first frame is written where the cursor is, the next ones over it") {
  const std::array<std::string, 2> lines = {"one", "two"};

  CHECK(frame_text(lines, 0) == "\x1b[?7lone\x1b[K\ntwo\x1b[K\n\x1b[J\x1b[?7h");
  CHECK(frame_text(lines, 3) == "\x1b[?7l\r\x1b[3Aone\x1b[K\ntwo\x1b[K\n\x1b[J\x1b[?7h");
}

}  // namespace
}  // namespace treaty::cli::limits_watch
