#include "treaty/base/yaml_reader.h"

#include <doctest/doctest.h>

#include <array>

#include "treaty/base/json_write.h"

namespace treaty::yaml {
namespace {

struct Light {
  std::string color{};
  std::int64_t watts = 0;
  bool dims = false;
};

constexpr std::array<MemberReader<Reader, Light>, 3> kLight = {{
    {"color",
     [](Reader& reader, const Node& node, Light& light) {
       constexpr std::array<std::string_view, 2> kColors = {"red", "green"};
       if (const auto index = reader.word(node, kColors)) light.color = kColors[*index];
     }},
    {"watts", [](Reader& reader, const Node& node,
                 Light& light) { light.watts = reader.integer(node, 1, 100).value_or(0); }},
    {"dims", [](Reader& reader, const Node& node,
                Light& light) { light.dims = reader.boolean(node).value_or(false); }},
}};

std::string problems_in(std::string_view text, Light& light) {
  const auto root = read(text);
  REQUIRE(root);
  Reader reader("light.yaml", Reader::Empty::refused);
  reader.members<Light>(*root, "a light", kLight, light);
  std::string out;
  for (const Diagnostic& problem : reader.take_problems()) out += text_of(problem) + "\n";
  return out;
}

}  // namespace

TEST_CASE("values of the right kind are taken, and nothing is noted") {
  Light light;

  CHECK(problems_in("{color: green, watts: 60, dims: true}", light).empty());
  CHECK(light.color == "green");
  CHECK(light.watts == 60);
  CHECK(light.dims);
}

TEST_CASE("everything that is wrong is told at once, in the order of the file") {
  Light light;

  CHECK(problems_in("dims: 1\nwatts: 101\ncolor: gren\nwats: 3\n", light) ==
        "light.yaml:1:7: expected true or false, found a number\n"
        "light.yaml:2:8: expected a whole number, 1 to 100\n"
        "light.yaml:3:8: expected red or green (did you mean green?)\n"
        "light.yaml:4:1: a light has no key wats (did you mean watts?)\n");
}

TEST_CASE("an unknown key that resembles none is told with those that there are") {
  Light light;

  CHECK(problems_in("switchboard: 1", light) ==
        "light.yaml:1:1: a light has no key switchboard (it may have color, watts, dims)\n");
}

TEST_CASE("a key without a value is an empty map only for readers that accept it") {
  Node nothing{};
  Reader strict;
  Reader lenient("f", Reader::Empty::accepted);

  CHECK(!strict.is_map(nothing, "a light"));
  CHECK(lenient.is_map(nothing, "a light"));
  CHECK(lenient.is_list(nothing, "lights"));
}

TEST_CASE("a diagnostic is written as JSON without what is not known") {
  json::Writer writer;
  write(writer, Diagnostic{.where = "--listen", .message = "no", .hint = "yes"});

  CHECK(writer.take() == R"({"where":"--listen","message":"no","hint":"yes"})");
}

TEST_CASE("the place of an error in a text becomes line and column") {
  const Diagnostic problem = diagnostic_of({ErrorCode::not_a_document, "bad", "3:14"}, "f.yaml");

  CHECK(text_of(problem) == "f.yaml:3:14: bad");
  CHECK(diagnostic_of({ErrorCode::not_a_document, "bad", "?"}).line == 1);
}

}  // namespace treaty::yaml
