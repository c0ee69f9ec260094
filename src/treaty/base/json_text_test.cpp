#include "treaty/base/json_text.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <limits>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::json {
namespace {

TEST_CASE("An object of text has its members in the order in which they were given") {
  const ObjectText object = {{"b", "x\"y"}, {"a", 7}, {"c", true}, {"d", nullptr}, {"e", 1.0}};

  CHECK(object.text() == R"({"b":"x\"y","a":7,"c":true,"d":null,"e":1.0})");
}

TEST_CASE("Objects, lists of texts and written values are members, too") {
  Writer writer;
  writer.begin_array().value(1).end_array();

  const ObjectText object = {{"in", ObjectText{{"deep", 1}}},
                             {"words", std::vector<std::string>{"a", "b"}},
                             {"written", ValueText::written(writer)}};

  CHECK(object.text() == R"({"in":{"deep":1},"words":["a","b"],"written":[1]})");
}

TEST_CASE("A text is valid JSON whatever it was made of") {
  const ObjectText object = {{"n\xFF", "\xC3"}, {"x", std::numeric_limits<double>::infinity()}};

  CHECK(object.text() == "{\"n\uFFFD\":\"\uFFFD\",\"x\":null}");
}

TEST_CASE("The same values have the same text, however a document spelt them") {
  const auto one = ObjectText::parse(R"( { "a" : [1e2, "\u00e9\/"], "b": 18446744073709551615 } )");
  const auto two = ObjectText::parse("{\"a\":[100.0,\"é/\"],\"b\":18446744073709551615}");

  REQUIRE(one);
  CHECK(one == two);
  CHECK(one->text() == "{\"a\":[100.0,\"é/\"],\"b\":18446744073709551615}");
}

TEST_CASE("What is no JSON object, or says something twice, is not parsed") {
  CHECK(!ObjectText::parse("[]"));
  CHECK(!ObjectText::parse("{"));
  CHECK(!ObjectText::parse(R"({"a": 1, "a": 2})"));
}

TEST_CASE("Members are found by name and type") {
  const ObjectText object = {{"text", "t"},        {"count", 3},
                             {"half", 0.5},        {"yes", true},
                             {"in", ObjectText()}, {"words", std::vector<std::string>{"a"}}};

  CHECK(object.find_text("text") == "t");
  CHECK(object.find_integer("count") == 3);
  CHECK(object.find_number("half") == 0.5);
  CHECK(object.find_number("count") == 3.0);
  CHECK(object.find_boolean("yes") == true);
  CHECK(object.find_object("in") == ObjectText());
  CHECK(object.find_texts("words") == std::vector<std::string>{"a"});
  CHECK(object.find("count") == ValueText(3));
  CHECK(!object.find_text("count"));
  CHECK(!object.find_integer("half"));
  CHECK(!object.contains("other"));
}

TEST_CASE("A member is replaced in its place, appended or erased") {
  ObjectText object = {{"a", 1}, {"b", 2}};

  object.set("a", "one");
  object.set("c", 3);
  object.erase("b");

  CHECK(object.text() == R"({"a":"one","c":3})");
  object.erase("a");
  object.erase("c");
  CHECK(object.empty());
  object.add("d", 4);
  CHECK(object.text() == R"({"d":4})");
}

TEST_CASE("A look-up finds what a whole reading finds, whatever the members hold") {
  const auto some_text = [] {
    std::string text;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      text += *rc::gen::element("a", "\"", "\\", "}", "]", ",", ":", "é", "\n", "{\"b\":1}");
    }
    return text;
  };
  CHECK(rc::check([&] {
    ObjectText object;
    for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
      const std::string name = some_text();
      switch (*rc::gen::inRange(0, 4)) {
        case 0: object.set(name, some_text()); break;
        case 1: object.set(name, *rc::gen::inRange(-9, 9)); break;
        case 2: object.set(name, ObjectText{{some_text(), nullptr}}); break;
        default: object.set(name, std::vector<std::string>{some_text(), some_text()});
      }
    }
    const Document whole = object.read();
    RC_ASSERT(whole.faults().empty());
    const std::string absent = some_text();
    RC_ASSERT(object.contains(absent) == whole.root()->members().find(absent).has_value());
    for (const Member member : whole.root()->members()) {
      const std::string name(member.name.text());
      RC_ASSERT(object.find(name)->text() == member.value.source());
      ObjectText rest = object;
      rest.erase(name);
      RC_ASSERT(!rest.contains(name));
      RC_ASSERT(ObjectText::parse(rest.text()) == rest);
      if (!rest.empty()) RC_ASSERT(rest.text().size() + 2 + name.size() < object.text().size());
    }
  }));
}

TEST_CASE("An object is written in the layout of its writer") {
  Writer writer(Layout::indented);

  write(writer, ObjectText{{"a", ObjectText{{"b", 1}}}});

  CHECK(writer.take() == "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
}

TEST_CASE("An object that is deeper than a document may be is still read") {
  ObjectText deep;
  for (int level = 0; level < 100; ++level) deep = ObjectText{{"in", deep}};

  CHECK(deep.find_object("in")->contains("in"));
}

}  // namespace
}  // namespace treaty::json
