#include "treaty/contracts/text/guarded_text.h"

#include <doctest/doctest.h>

#include <string>

using namespace treaty::contracts;

TEST_CASE("CommonMark: a fence is three or more, indented at most three, and closes by its kind") {
  const auto fences = find_fences("a\n```json title\n{}\n```\n~~~\nx\n```\n~~~~\nb");

  REQUIRE(fences.size() == 2);
  CHECK(fences[0].info == "json title");
  CHECK(fences[0].body == "{}\n");
  CHECK(fences[1].info.empty());
  CHECK(fences[1].body == "x\n```\n");
}

TEST_CASE("CommonMark: a fence that never closes reaches to the end") {
  const auto fences = find_fences("```\n{}\n");

  REQUIRE(fences.size() == 1);
  CHECK(fences[0].body == "{}\n");
  CHECK(fences[0].end == 7);
}

TEST_CASE("CommonMark: four spaces, two backticks and a backtick in the info make no fence") {
  CHECK(find_fences("    ```\n{}\n    ```").empty());
  CHECK(find_fences("``\n{}\n``").empty());
  CHECK(find_fences("```a`b\n{}").empty());
  CHECK(find_fences("~~~a`b\n{}").size() == 1);
}

TEST_CASE("CommonMark: a fence may be the last line, and a line may end in a carriage return") {
  const auto last = find_fences("text\n```json");
  const auto returns = find_fences("```\r{}\r```\rtext");

  REQUIRE(last.size() == 1);
  CHECK(last[0].body.empty());
  REQUIRE(returns.size() == 1);
  CHECK(returns[0].body == "{}\r");
}

TEST_CASE("RES-30: a payload is guarded by a tagged fence and by nothing else") {
  CHECK(has_unguarded_payload(" {\"a\":1} "));
  CHECK(has_unguarded_payload("[]"));
  CHECK(has_unguarded_payload("text\n```\n[1]\n```"));
  CHECK(has_unguarded_payload("~~~ \r\n{\"a\":1}\r\n~~~"));
  CHECK(!has_unguarded_payload("```json\n{\"a\":1}\n```"));
  CHECK(!has_unguarded_payload("````md\n```\n{}\n```\n````"));
  CHECK(!has_unguarded_payload("Use {} or `[]`."));
  CHECK(!has_unguarded_payload("42"));
}

TEST_CASE("RES-31: 1,024 base64 characters in a row are a file, 1,023 are not") {
  CHECK(has_embedded_file(std::string(1024, 'A')));
  CHECK(has_embedded_file(std::string(1023, 'A') + "="));
  CHECK(!has_embedded_file(std::string(1023, 'A')));
  CHECK(has_embedded_file(std::string(700, ' ') + std::string(1024, 'A')));
  CHECK(has_embedded_file(std::string(900, 'A') + "-" + std::string(1022, 'A') + "=="));
  CHECK(!has_embedded_file(std::string(900, 'A') + "-" + std::string(1021, 'A') + "=="));
  CHECK(!has_embedded_file(std::string(2000, '=')));
  CHECK(!has_embedded_file(std::string(1000, 'A') + "\n" + std::string(1000, 'A')));
}

TEST_CASE("RES-31: a data URI with base64 is a file wherever it stands outside a tagged fence") {
  CHECK(has_embedded_file("![x](data:image/png;base64,AA==)"));
  CHECK(has_embedded_file("DATA:text/plain;charset=utf-8;BASE64,AA=="));
  CHECK(has_embedded_file("```\ndata:;base64,AA==\n```"));
  CHECK(has_embedded_file("data:text/plain;name=a:b;base64,AA=="));
  CHECK(!has_embedded_file("```json\n\"data:;base64,AA==\"\n```"));
  CHECK(!has_embedded_file("data:text/plain,hello and base64, too"));
}
