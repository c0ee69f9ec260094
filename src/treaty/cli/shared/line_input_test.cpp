#include "treaty/cli/shared/line_input.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>

namespace treaty::cli {
namespace {

using Kind = LineInput::Read::Kind;

// A pipe that holds `text` and has ended.
class Source {
 public:
  explicit Source(std::string_view text) {
    REQUIRE(pipe(ends_.data()) == 0);
    REQUIRE(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    close(ends_[1]);
  }
  ~Source() { close(ends_[0]); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  int descriptor() const { return ends_[0]; }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace

TEST_CASE("lines come one at a time, the last one also without an end") {
  Signals signals{SIGUSR1};
  const Source source("one\r\n\ntwo\nthree");
  LineInput input(source.descriptor(), signals);

  CHECK(!input.is_terminal());
  CHECK(input.next("> ").line == "one");
  CHECK(input.next("> ").line.empty());
  CHECK(input.next("> ").line == "two");
  CHECK(input.next("> ").line == "three");
  CHECK(input.next("> ").kind == Kind::end);
  CHECK(input.next("> ").kind == Kind::end);
}

TEST_CASE("a signal ends the waiting and takes no line away") {
  Signals signals{SIGUSR1};
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  LineInput input(ends[0], signals);

  kill(getpid(), SIGUSR1);
  const auto interrupted = input.next("> ");
  REQUIRE(::write(ends[1], "line\n", 5) == 5);
  const auto line = input.next("> ");

  CHECK(interrupted.kind == Kind::signal);
  CHECK(interrupted.signal == SIGUSR1);
  CHECK(line.line == "line");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace treaty::cli
