// Texts of machines as trees: JSON and YAML, merge keys, and what hostile ones cost.
#include <doctest/doctest.h>

#include <string>

#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

std::string json_of(std::string_view text) {
  const auto tree = read_source(text);
  REQUIRE(tree.has_value());
  return yaml::to_json(*tree);
}

Diagnostic refusal_of(std::string_view text) {
  const auto tree = read_source(text);
  REQUIRE(!tree.has_value());
  CHECK(tree.error().rule == "MCH-01");
  CHECK(!tree.error().message.empty());
  return tree.error();
}

}  // namespace

TEST_CASE("JSON is read as JSON: surrogate pairs, tabs and large numbers") {
  CHECK(json_of("\t{\"a\": \"\\ud83d\\ude00\",\n\t\t\"b\": [1, 2.5, true, null], \"c\": 1e3}\n") ==
        "{\"a\":\"😀\",\"b\":[1,2.5,true,null],\"c\":1000.0}");
  CHECK(json_of("{\"a\": 123456789012345678901}") == "{\"a\":1.2345678901234568e+20}");
}

TEST_CASE("nodes of JSON know their line and column") {
  const auto tree = read_source("{\"a\": 1,\n  \"b\": {\"c\": [7,\n8]}}");

  REQUIRE(tree.has_value());
  const auto& [key, value] = tree->members[1];
  CHECK(key.line == 2);
  CHECK(key.column == 3);
  CHECK(value.members[0].second.items[1].line == 3);
  CHECK(value.members[0].second.items[1].column == 1);
}

TEST_CASE("a flow mapping that is no JSON is YAML") {
  CHECK(json_of("{a: 1, b: [x, 'y'],}") == "{\"a\":1,\"b\":[\"x\",\"y\"]}");
}

TEST_CASE("a key that is there twice is refused at its later place, in JSON and in YAML") {
  CHECK(refusal_of("{\"a\": {\"b\": 1},\n \"a\": 2}").line == 2);
  CHECK(refusal_of("a: 1\nb: 2\na: 3\n").line == 3);
}

TEST_CASE("merge keys give what is not there, and what is merged first wins") {
  CHECK(json_of("a: &one {x: 1, y: 2}\nb: &two {y: 3, z: 4}\n"
                "c:\n  <<: *one\n  x: 9\nd:\n  <<: [*one, *two]\n") ==
        "{\"a\":{\"x\":1,\"y\":2},\"b\":{\"y\":3,\"z\":4},\"c\":{\"y\":2,\"x\":9},"
        "\"d\":{\"x\":1,\"y\":2,\"z\":4}}");
  CHECK(json_of("a: {<<: text}\n") == "{\"a\":{\"<<\":\"text\"}}");
}

TEST_CASE("texts that explode, nest without end or are no text are refused") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 0; j < 9; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  CHECK(refusal_of(bomb).message.contains("aliases"));
  CHECK(refusal_of("{\"a\": " + std::string(10'000, '[') + std::string(10'000, ']') + "}")
            .message.contains("deep"));
  CHECK(refusal_of("a: " + std::string(10'000, '[')).line == 1);
  CHECK(refusal_of(std::string(10 << 20, '{')).message.contains("brackets"));
  CHECK(refusal_of("a: \xff\n").message.contains("UTF-8"));
  CHECK(refusal_of(std::string(11 << 20, 'x')).message.contains("larger"));
  CHECK(refusal_of("a: \"never closed\nb: c\n").line == 1);
  CHECK(refusal_of("a: !!python/object:os.system x\n").message.contains("tags"));
  CHECK(refusal_of("a: 1\n---\nb: 2\n").message.contains("second document"));
}

TEST_CASE("a JSON text of too many values is refused") {
  std::string many = "{\"a\": [";
  for (int i = 0; i < 1'000'001; ++i) many += "0,";
  many += "0]}";

  CHECK(refusal_of(many).message.contains("values"));
}

}  // namespace treaty::machines
