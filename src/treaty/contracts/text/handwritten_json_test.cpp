#include "treaty/contracts/text/handwritten_json.h"

#include <doctest/doctest.h>

using namespace treaty::contracts;

namespace {

std::string rewritten(std::string_view text) { return rewrite_as_json(text).text; }

}  // namespace

TEST_CASE("JSON that is in order stays as it is") {
  for (const std::string_view text :
       {R"({"a": [1, {}], "b": ", }"})", "{}", "  {\n}\n", R"({"a": "\\", "b": "\",}"})"}) {
    const HandwrittenJson json = rewrite_as_json(text);

    CHECK(json.text == text);
    CHECK(json.repairs.empty());
  }
}

TEST_CASE("A comma before a closing bracket is removed, and no other one") {
  CHECK(rewritten(R"({"a": [1, 2, ], "b": {"c": ",}", } ,})") ==
        R"({"a": [1, 2 ], "b": {"c": ",}" } })");
  for (const std::string_view text : {"{,}", R"({"a": [,]})", R"({"a": 1,,})", R"({"a":,})"}) {
    CHECK(rewritten(text) == text);
  }
}

TEST_CASE("Raw control characters of strings are written as escapes") {
  CHECK(rewritten("{\"a\":\n\"b\r\n\tc\x01\"}") == "{\"a\":\n\"b\\r\\n\\tc\\u0001\"}");
  CHECK(rewrite_as_json("{\"a\": \"\n\n\"}").repairs.size() == 1);
}

TEST_CASE("A zero byte is no character of a text: it stays a fault") {
  const std::string text("{\"a\": \"\0\"}", 10);

  CHECK(rewritten(text) == text);
}

TEST_CASE("A text that is no object after that is returned as it was") {
  for (const std::string_view text : {"", "[1,]", "text\n", R"({"a": "b)", "{\"a\": \"b\n\" \"c\"}",
                                      "```json\n{\"status\": 1\n```"}) {
    CHECK(rewritten(text) == text);
  }
}

TEST_CASE("A fence around an object is removed, with fences of the answer inside it") {
  CHECK(rewritten("```json\n{\"sections\": []}\n```\n") == "{\"sections\": []}\n");
  CHECK(rewritten("```json\n{\"status\": 1}\n```\n") == "{\"status\": 1}\n");
  CHECK(rewritten("~~~~\n{\"response\": \"\n~~~~\n\"}\n~~~~~") ==
        "{\"response\": \"\\n~~~~\\n\"}\n");
  CHECK(rewritten("\xEF\xBB\xBF```\n{\"status\": 1,}\n```") == "\xEF\xBB\xBF{\"status\": 1}\n");
}

TEST_CASE("UTF-16 is written as UTF-8, in either order and with or without its mark") {
  using namespace std::string_literals;
  CHECK(rewritten("\xFF\xFE{\0}\0\n\0"s) == "{}\n");
  CHECK(rewritten("{\0\"\0a\0\"\0:\0001\0,\0}\0"s) == "{\"a\":1}");
  CHECK(rewritten("\0{\0}"s) == "{}");
  CHECK(utf8_of_utf16("\xFE\xFF\xD8\x3E\xDD\xB6"s) == "\xF0\x9F\xA6\xB6");
}

TEST_CASE(
    "A character of UTF-16 that the end cuts off is left out; half a pair in the middle is not") {
  using namespace std::string_literals;
  CHECK(utf8_of_utf16("{\0}"s) == "{");
  CHECK(utf8_of_utf16("{\0\x3E\xD8"s) == "{");
  CHECK_FALSE(utf8_of_utf16("{\0\x3E\xD8}\0"s));
  CHECK_FALSE(utf8_of_utf16("{}"));
  CHECK_FALSE(utf8_of_utf16("\0\0"s));
}

TEST_CASE("Other fences stay: around a list or a text, of another kind, with prose around") {
  for (const std::string_view text :
       {"```json\n[1]\n```\n", "```\ntext\n```\n", "```json\n{\"status\": 1}\n~~~\n",
        "````json\n{\"status\": 1}\n```\n", "``\n{\"status\": 1}\n``\n",
        "Here:\n```json\n{\"status\": 1}\n```\n", "```json\n{\"status\": 1}\n``` done\n"}) {
    CHECK(rewritten(text) == text);
  }
}
