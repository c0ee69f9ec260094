#include "treaty/base/json_write.h"

#include <doctest/doctest.h>

#include <limits>

#include "treaty/base/json_dynamic.h"

using namespace treaty::json;

TEST_CASE("members are written in the order they come, on one line") {
  Writer writer;
  writer.begin_object().member("z", 1).member("a", "x").name("l").begin_array();
  writer.value(true).null().value(2.5).end_array().end_object();

  CHECK(writer.take() == R"({"z":1,"a":"x","l":[true,null,2.5]})");
}

TEST_CASE("the indented layout has two spaces a level and keeps empty containers short") {
  Writer writer(Layout::indented);
  writer.begin_object().name("o").begin_object().end_object().name("l").begin_array();
  writer.value(1).end_array().end_object();

  CHECK(writer.take() == "{\n  \"o\": {},\n  \"l\": [\n    1\n  ]\n}");
}

TEST_CASE("a list is written as an array of values, of objects, or of the entries themselves") {
  const std::vector<std::string> words = {"a", "b"};
  Writer writer;
  writer.begin_object().member("words", words).member("none", std::vector<double>());
  writer.name("sizes").array(words, [&](const auto& word) { writer.value(word.size()); });
  writer.name("objects").objects(words, [&](const auto& word) { writer.member("is", word); });

  CHECK(writer.end_object().take() ==
        R"({"words":["a","b"],"none":[],"sizes":[1,1],"objects":[{"is":"a"},{"is":"b"}]})");
}

TEST_CASE("a view of nothing is an empty text") {
  Writer writer;
  CHECK(writer.value(std::string_view()).take() == R"("")");
}

TEST_CASE("a text that is not there is null, and so is an empty one") {
  Writer writer;
  writer.begin_object().member_or_null("a", "x").member_or_null("b", "");
  writer.member_or_null("c", std::optional<std::string>(""));
  writer.member_or_null("d", std::optional<std::string>());

  CHECK(writer.end_object().take() == R"({"a":"x","b":null,"c":"","d":null})");
}

TEST_CASE("strings are escaped as little as JSON allows") {
  std::string out;
  append_quoted(out, "a\"b\\c\n\t\r\x01é😀/");

  CHECK(out == "\"a\\\"b\\\\c\\n\\t\\r\\u0001é😀/\"");
}

TEST_CASE("a text of any length is quoted as it is, wherever its one escape stands") {
  for (std::size_t length = 0; length < 40; ++length) {
    const std::string plain(length, 'x');
    std::string out(300, ' ');  // Long enough that it has to grow on the way.
    append_quoted(out, plain);
    CHECK(out == std::string(300, ' ') + '"' + plain + '"');
    for (std::size_t at = 0; at < length; ++at) {
      std::string text = plain;
      text[at] = '"';
      std::string quoted;
      append_quoted(quoted, text);
      CHECK(quoted == '"' + plain.substr(0, at) + "\\\"" + plain.substr(at + 1) + '"');
    }
  }
}

TEST_CASE("an integer is written with all its digits, the smallest and the largest included") {
  Writer writer;
  writer.begin_array().value(0).value(-1).value(std::numeric_limits<std::int64_t>::min());
  writer.value(std::numeric_limits<std::uint64_t>::max()).value(std::int8_t{-128});

  CHECK(writer.end_array().take() == "[0,-1,-9223372036854775808,18446744073709551615,-128]");
}

TEST_CASE("a decimal stays a decimal and reads back as the same double") {
  CHECK(decimal_text(1.0) == "1.0");
  CHECK(decimal_text(0.1) == "0.1");
  CHECK(decimal_text(-0.0) == "-0.0");
  CHECK(decimal_text(1e300) == "1e+300");
  CHECK(decimal_text(std::numeric_limits<double>::infinity()) == "null");
}

TEST_CASE("a dynamic value is written as it was read, large integers included") {
  const std::string text =
      R"({"a":[1,-2,18446744073709551615,0.5,"x",true,null],"o":{"z":1,"a":2}})";
  const Document document(text);
  Writer writer;

  write(writer, to_dynamic(*document.root()));

  CHECK(writer.take() == text);
}
