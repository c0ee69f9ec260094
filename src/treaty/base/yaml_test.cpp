#include "treaty/base/yaml.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::yaml {
namespace {

std::string json_of(std::string_view text) {
  const auto node = read(text);
  return node ? to_json(*node) : "refused at " + node.error().where + ": " + node.error().message;
}

std::string where(std::string_view text, const YamlOptions& options = {}) {
  const auto node = read(text, options);
  return node ? "accepted" : node.error().where;
}

TEST_CASE("Plain scalars follow the core schema of YAML 1.2") {
  CHECK(json_of("[null, ~, '', Null]") == R"([null,null,"",null])");
  CHECK(json_of("[true, False, yes, no, on, off]") == R"([true,false,"yes","no","on","off"])");
  CHECK(json_of("[0, -17, +3, 0x1F, 0o17, 017]") == "[0,-17,3,31,15,17]");
  CHECK(json_of("[1.5, -.5, 1e3, 2., +0.25]") == "[1.5,-0.5,1000.0,2.0,0.25]");
  CHECK(json_of("[1.2.3, 0x, 0o8, -, 1e, +-3, 12:30]") ==
        R"(["1.2.3","0x","0o8","-","1e","+-3","12:30"])");
  CHECK(json_of("a:\n") == R"({"a":null})");
}

TEST_CASE("What JSON has no number for stays a text") {
  CHECK(json_of("[.inf, -.inf, .nan, inf, nan, 1e999]") ==
        R"([".inf","-.inf",".nan","inf","nan","1e999"])");
  CHECK(json_of("9223372036854775808") == "9.223372036854776e+18");
}

TEST_CASE("Quoted scalars, blocks and !!str are texts whatever they look like") {
  CHECK(json_of("['1', \"true\", !!str 5]") == R"(["1","true","5"])");
  CHECK(json_of("a: |\n  one\n  two\nb: >-\n  one\n  two\n") ==
        R"({"a":"one\ntwo\n","b":"one two"})");
}

TEST_CASE("Escapes become UTF-8, those of the next line and of the hard space too") {
  CHECK(json_of(R"("\u00e9\N\_\x41\L")") == "\"\u00e9\u0085\u00a0A\u2028\"");
}

TEST_CASE("A node keeps its text, its line and its column") {
  const auto node = read("a: 1\nlist:\n  - 0x10\n  - {b: yes}\n");

  REQUIRE(node);
  const Node& second = node->find("list")->items[1];
  CHECK(node->find("list")->items[0].text == "0x10");
  CHECK(second.line == 4);
  CHECK(second.column == 5);
  CHECK(second.members[0].second.column == 9);
  CHECK(node->find("c") == nullptr);
}

TEST_CASE("An alias is a copy that stands where the alias stands") {
  const auto node = read("a: &one {x: 1}\nb: *one\n");

  REQUIRE(node);
  CHECK(to_json(*node) == R"({"a":{"x":1},"b":{"x":1}})");
  CHECK(node->find("b")->line == 2);
}

TEST_CASE("Aliases cannot become a forest") {
  std::string bomb = "- &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 12; ++level) {
    const std::string before = "*a" + std::to_string(level - 1);
    bomb += "- &a" + std::to_string(level) + " [";
    for (int i = 0; i < 9; ++i) bomb += before + ", ";
    bomb += before + "]\n";
  }
  CHECK(where(bomb) != "accepted");

  std::string copies = "- &a " + std::string(100'000, 'x') + "\n";
  for (int i = 0; i < 500; ++i) copies += "- *a\n";
  CHECK(where(copies) != "accepted");
}

TEST_CASE("An alias inside of what it stands for is refused") {
  CHECK(where("&a [1, *a]") == "1:8");
  CHECK(where("a: *nobody") != "accepted");
}

TEST_CASE("A key that is there twice is refused at its second place") {
  CHECK(where("a: 1\nb: 2\na: 3\n") == "3:1");
  CHECK(where("{a: 1, 'a': 2}") == "1:8");
  CHECK(where("x: {a: 1}\ny: {a: 1}\n") == "accepted");
}

TEST_CASE("Keys are texts") {
  CHECK(where("? [a]\n: 1\n") == "1:3");
  CHECK(where("? {a: 1}\n: 1\n") == "1:3");
}

TEST_CASE("Size, depth and number of values are bounded") {
  CHECK(where("abc", {.max_size = 2}) == "1:1");
  CHECK(where("[[1]]", {.max_depth = 2}) == "accepted");
  CHECK(where("[[[1]]]", {.max_depth = 2}) == "1:3");
  CHECK(where("a: &a [[1]]\nb: [*a]\n", {.max_depth = 3}) == "2:5");
  CHECK(where("[1, 2, 3]", {.max_nodes = 3}) != "accepted");
  CHECK(where(std::string(100'000, '[')) != "accepted");
}

TEST_CASE("Entries of a collection in brackets are bounded, those of texts and blocks are not") {
  std::string entries;
  for (int i = 0; i < 20'000; ++i) entries += "a,";
  const YamlOptions few{.max_flow_entries = 10'000};

  const auto refused = read("[" + entries + "a]\n", few);
  REQUIRE(!refused);
  CHECK(refused.error().message.contains("more than 10000 commas"));
  CHECK(where("\n\nk:\n  - {b: [" + entries + "a]}\n", few) == "4:1");
  CHECK(where("[" + entries + "a]", {.max_flow_entries = 30'000}) == "accepted");

  std::string block;
  for (int i = 0; i < 20'000; ++i) block += "- [a, b]\n";
  CHECK(where(block, few) == "accepted");
}

TEST_CASE("More than one document, foreign tags, tabs and control characters are refused") {
  CHECK(where("a: 1\n---\nb: 2\n") != "accepted");
  CHECK(where("--- a\n...\n") == "accepted");
  CHECK(where("a: !python/object x\n") == "1:4");
  CHECK(json_of("a:\n\tb: 1\n").contains("a tab indents this line"));
  CHECK(where("a: 1\nb: \x04 c\n") == "2:4");
  CHECK(where("a: \xFF\n") == "1:4");
}

TEST_CASE("What is not YAML is refused with its place") {
  CHECK(where("a: [1, 2\nb: 3\n") != "accepted");
  CHECK(where("a: 'open\n") != "accepted");
  CHECK(where("a: b: c\n") == "1:5");
}

TEST_CASE("An empty text is null") {
  CHECK(json_of("") == "null");
  CHECK(json_of("# only a comment\n") == "null");
}

TEST_CASE("JSON is YAML: what was written as JSON reads back as the same JSON") {
  CHECK(rc::check([](const std::vector<std::string>& texts, std::int64_t number) {
    std::string written = "[";
    for (const std::string& text : texts) {
      std::string clean;
      for (const char c : text) clean += c >= ' ' && c < 0x7F ? c : '?';
      json::append_quoted(written, clean);
      written += ",";
    }
    written += std::to_string(number) + "]";
    RC_ASSERT(json_of(written) == written);
  }));
}

TEST_CASE("Whatever the bytes are, reading ends with a tree or an error") {
  CHECK(rc::check([](const std::string& bytes) {
    const auto node = read(bytes);
    const bool is_sound = !node || json::is_json(to_json(*node));
    RC_ASSERT(is_sound);
  }));
}

}  // namespace
}  // namespace treaty::yaml
