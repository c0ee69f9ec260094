#include <doctest/doctest.h>

#include <array>
#include <string>

#include "treaty/turns/prompt.h"

using namespace treaty::turns;

namespace {

constexpr std::array<std::string_view, 1> kWord = {"note"};

std::uint32_t number_for(std::string_view text) { return free_number(kWord, std::array{text}); }

}  // namespace

TEST_CASE("the number is the smallest that no text has behind the word") {
  CHECK(number_for("") == 1);
  CHECK(number_for("note-") == 1);
  CHECK(number_for("note-1") == 2);
  CHECK(number_for("note-2 note-1") == 3);
  CHECK(number_for("note-3") == 1);
  CHECK(number_for("artifact-1") == 1);
}

TEST_CASE("a number that begins a longer one is taken, too") {
  CHECK(number_for("note-12") == 2);
  CHECK(number_for("note-2note-10") == 3);
  CHECK(number_for("note-01") == 1);
  CHECK(number_for("note-1234567890123456789012") == 2);
}

TEST_CASE("one number serves several words and texts") {
  constexpr std::array<std::string_view, 2> kWords = {"a", "b"};
  constexpr std::array<std::string_view, 2> kTexts = {"a-1", "b-2"};

  CHECK(free_number(kWords, kTexts) == 3);
}

TEST_CASE("a block keeps its contents as they are") {
  std::string out = "before ";

  append_block(out, {"note", 7}, std::array{Attribute{"by", "me"}}, "a\n");

  CHECK(out == "before <note-7 by=\"me\">\na\n\n</note-7>\n");
}

TEST_CASE("a value stays inside its quotes and on its line") {
  std::string out;

  append_mark(out, {"note", 1}, std::array{Attribute{"by", "a\"b<c>&\r\n\x7F\u0085\u2028é"}});

  CHECK(out == "<note-1 by=\"a&quot;b&lt;c&gt;&amp;&#13;&#10;&#127;&#133;&#8232;é\"/>\n");
}
