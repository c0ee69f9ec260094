#include "treaty/cli/terminal.h"

#include <doctest/doctest.h>

namespace treaty::cli {

TEST_CASE("foreign text cannot command a terminal, on one line or on several") {
  constexpr std::string_view kText = "a\x1b[2J\tb\r\nc\u009b\u202e\xff";

  CHECK(harmless(kText) == "a?[2J b??c???");
  CHECK(harmless_lines(kText) == "a?[2J\tb\nc???");
}

TEST_CASE("a word for the shell is quoted when something in it has a meaning there") {
  CHECK(shell_word("http://127.0.0.1:8088/a_b-c") == "http://127.0.0.1:8088/a_b-c");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(shell_word("").size() == 2);
  CHECK(shell_word("~") == "'~'");
}

}  // namespace treaty::cli
