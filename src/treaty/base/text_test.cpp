#include "treaty/base/text.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace treaty;

TEST_CASE("what is not UTF-8 becomes replacement characters, byte for byte") {
  CHECK(repaired_utf8("a\xFF\xC3(é😀\xF0\x9F") == "a\uFFFD\uFFFD(é😀\uFFFD\uFFFD");
  CHECK(repaired_utf8("").empty());
}

TEST_CASE("a prefix never ends inside a character") {
  CHECK(utf8_prefix("aé😀", 9) == "aé😀");
  CHECK(utf8_prefix("aé😀", 6) == "aé");
  CHECK(utf8_prefix("aé😀", 2) == "a");
  CHECK(utf8_prefix("😀", 3).empty());
}

TEST_CASE("UTF-8 has no overlong forms, no surrogates and nothing past U+10FFFF") {
  CHECK(is_utf8("aé✅😀"));
  CHECK(!is_utf8("\xC0\x80"));
  CHECK(!is_utf8("\xE0\x80\x80"));
  CHECK(!is_utf8("\xED\xA0\x80"));
  CHECK(!is_utf8("\xF4\x90\x80\x80"));
  CHECK(!is_utf8("\xE2\x82"));
}

TEST_CASE("what is appended as UTF-8 reads back") {
  for (const char32_t c : {U'a', U'é', U'✅', U'😀'}) {
    std::string out;
    append_utf8(out, c);
    CHECK(read_code_point(out).value == c);
  }
}

TEST_CASE("blank is nothing or nothing but white space, Unicode's included") {
  CHECK(is_blank(""));
  CHECK(is_blank(" \t\r\n"));
  CHECK(is_blank("\u00A0\u2003\u3000"));
  CHECK(!is_blank(" x "));
  CHECK(!is_blank("\u200B"));
}

TEST_CASE("control characters are those below space, DEL and C1") {
  CHECK(has_control_character("a\nb"));
  CHECK(has_control_character(std::string_view("a\0b", 3)));
  CHECK(has_control_character("\x7F"));
  CHECK(has_control_character("\u0085"));
  CHECK(!has_control_character("a é \u00A0"));
}

TEST_CASE("a line ends in a line feed, a carriage return, or both together") {
  const std::string text = "a\r\nb\rc\n" + std::string(300, 'd') + "\re";
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const Line line = line_at(text, at);
    lines.emplace_back(line.text);
    at = line.next;
  }

  CHECK(lines == std::vector<std::string>{"a", "b", "c", std::string(300, 'd'), "e"});
}

TEST_CASE("a media type has a type, a subtype and perhaps parameters") {
  CHECK(is_media_type("text/plain"));
  CHECK(is_media_type("image/svg+xml"));
  CHECK(is_media_type("text/plain; charset=utf-8"));
  CHECK(!is_media_type("text"));
  CHECK(!is_media_type("/plain"));
  CHECK(!is_media_type("text/"));
  CHECK(!is_media_type("a/b/c"));
  CHECK(!is_media_type("text /plain"));
}

TEST_CASE("a UUID is recognised in either case, and nothing else") {
  CHECK(is_uuid("3f2504e0-4f89-41d3-9a0c-0305e82c3301"));
  CHECK(is_uuid("3F2504E0-4F89-41D3-9A0C-0305E82C3301"));
  CHECK(!is_uuid("3f2504e04f8941d39a0c0305e82c3301"));
  CHECK(!is_uuid("3f2504e0-4f89-41d3-9a0c-0305e82c330g"));
}

TEST_CASE("the closest word is the one with the fewest changes, when most of it is right") {
  constexpr std::array<std::string_view, 3> kWords = {"listen", "store", "workers"};

  CHECK(closest(kWords, "lisen") == "listen");
  CHECK(closest(kWords, "worker") == "workers");
  CHECK(closest(kWords, "stroe") == "store");
  CHECK(closest(kWords, "LISTEN") == "listen");
  CHECK(closest(kWords, "x").empty());
  CHECK(closest(kWords, "sore loser").empty());
  CHECK(closest(kWords, "something").empty());
  CHECK(closest(kWords, std::string(1'000, 'l')).empty());
  CHECK(closest({}, "listen").empty());
}
