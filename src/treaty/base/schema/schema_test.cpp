#include "treaty/base/schema/schema.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

using namespace treaty;
using schema::Schema;

namespace {

Schema compiled(std::string_view text) {
  auto schema = Schema::compile(text);
  INFO(text);
  REQUIRE_MESSAGE(schema.has_value(), (schema ? "" : schema.error().message));
  return *schema;
}

bool fits(std::string_view schema, std::string_view value) {
  return !compiled(schema).mismatch_of_text(value);
}

// "WHERE: MESSAGE"; empty when it fits.
std::string told(std::string_view schema, std::string_view value) {
  const auto mismatch = compiled(schema).mismatch_of_text(value);
  return mismatch ? fmt::format("{}: {}", mismatch->where, mismatch->message) : "";
}

// "WHERE: MESSAGE"; empty when it is taken.
std::string refused(std::string_view schema) {
  const auto result = Schema::compile(schema);
  return result ? "" : fmt::format("{}: {}", result.error().where, result.error().message);
}

constexpr std::string_view kWeather = R"({
  "type": "object",
  "properties": {
    "city": {"type": "string", "minLength": 1},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["celsius", "fahrenheit"]}
  },
  "required": ["city"],
  "additionalProperties": false
})";

}  // namespace

TEST_CASE("arguments that fit a tool's parameters have no mismatch") {
  CHECK(told(kWeather, R"({"city": "Kyiv", "days": 3, "unit": "celsius"})") == "");
  CHECK(told(kWeather, R"({"city": "Kyiv"})") == "");
}

TEST_CASE("a model is told where its arguments do not fit and what is expected there") {
  CHECK(told(kWeather, R"({"city": "Kyiv", "days": "3"})") ==
        "/days: expected an integer, got a string");
  CHECK(told(kWeather, R"({"city": "Kyiv", "days": 1.5})") ==
        "/days: expected an integer, got the number 1.5");
  CHECK(told(kWeather, R"({"days": 3})") == ": the member \"city\" is missing");
  CHECK(told(kWeather, R"({"city": "", "days": 3})") ==
        "/city: expected at least 1 character, got 0");
  CHECK(told(kWeather, R"({"city": "Kyiv", "days": 15})") == "/days: expected at most 14, got 15");
  CHECK(told(kWeather, R"({"city": "Kyiv", "unit": "kelvin"})") ==
        "/unit: expected \"celsius\" or \"fahrenheit\", got \"kelvin\"");
  CHECK(told(kWeather, R"({"city": "Kyiv", "units": "celsius"})") ==
        "/units: there is no member \"units\" here; did you mean \"unit\"?");
  CHECK(told(kWeather, R"({"city": "Kyiv", "colour": 1})")
            .starts_with("/colour: there is no member \"colour\" here; expected \""));
  CHECK(told(kWeather, "[]") == ": expected an object, got an array");
}

TEST_CASE("a text that is no JSON does not fit, and a repeated name is told") {
  CHECK(told(kWeather, "{'city': 1}").starts_with(": is not JSON: "));
  CHECK(told(kWeather, R"({"city": "a", "city": "b"})").starts_with("/city: is not JSON: "));
}

TEST_CASE("true takes everything, false nothing") {
  CHECK(fits("true", "[1]"));
  CHECK(told("false", "1") == ": nothing is allowed here; leave it out");
  CHECK(fits("{}", "null"));
}

TEST_CASE("1.0 is an integer and equals 1, however it is written") {
  CHECK(fits(R"({"type": "integer"})", "1.0"));
  CHECK(fits(R"({"type": "integer"})", "12.5e1"));
  CHECK(!fits(R"({"type": "integer"})", "12.5e0"));
  CHECK(fits(R"({"const": 1})", "1.0"));
  CHECK(fits(R"({"enum": [100]})", "1e2"));
  CHECK(!fits(R"({"const": 1})", "true"));
  CHECK(!fits(R"({"uniqueItems": true})", "[1, 1.0]"));
}

TEST_CASE("numbers are compared exactly, where doubles are the same") {
  CHECK(!fits(R"({"maximum": 9007199254740992})", "9007199254740993"));
  CHECK(!fits(R"({"maximum": 18446744073709551616})", "18446744073709551617"));
  CHECK(fits(R"({"exclusiveMinimum": 0.1})", "0.1000000000000000000001"));
  CHECK(!fits(R"({"const": 9007199254740992})", "9007199254740993"));
  CHECK(fits(R"({"multipleOf": 0.01})", "19.99"));
  CHECK(!fits(R"({"multipleOf": 0.01})", "19.999"));
  CHECK(fits(R"({"multipleOf": 1e-8})", "12391239123"));
  CHECK(fits(R"({"multipleOf": 3})", "-9"));
}

TEST_CASE("objects are equal whatever the order of their members") {
  CHECK(fits(R"({"const": {"a": 1, "b": [2]}})", R"({"b": [2.0], "a": 1})"));
  CHECK(!fits(R"({"const": {"a": 1}})", R"({"a": 1, "b": 2})"));
  CHECK(!fits(R"({"const": {"a": 1, "b": 2}})", R"({"a": 1})"));
  CHECK(told(R"({"uniqueItems": true})", R"([0, {"a":1,"b":2}, 3, {"b":2,"a":1}])") ==
        "/3: expected items that differ; this one equals item 1");
}

TEST_CASE("lengths count characters, not bytes") {
  CHECK(fits(R"({"maxLength": 2})", R"("\ud83d\ude00é")"));
  CHECK(told(R"({"minLength": 3})", "\"éé\"") == ": expected at least 3 characters, got 2");
}

TEST_CASE("alternatives are told in one sentence where that is possible") {
  CHECK(told(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})", "[]") ==
        ": expected a string or null, got an array");
  CHECK(told(R"({"oneOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}]})", "\"d\"") ==
        ": expected \"a\", \"b\" or \"c\", got \"d\"");
  CHECK(told(R"({"type": ["integer", "string", "null"]})", "true") ==
        ": expected a string, an integer or null, got true");
}

TEST_CASE("of alternatives with a mark the one that was meant is told") {
  constexpr std::string_view kShapes = R"({"oneOf": [
    {"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}},
    {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}},
    {"type": "null"}]})";

  CHECK(told(kShapes, R"({"kind": "square", "side": "long"})") ==
        "/side: fits none of 3 alternatives; the nearest says: expected a number, got a string");
}

TEST_CASE("two alternatives that fit are one too many for oneOf") {
  CHECK(told(R"({"oneOf": [{"minimum": 1}, {"type": "string"}, {"maximum": 9}]})", "5") ==
        ": expected exactly one of 3 alternatives to fit, but numbers 1 and 3 both do");
}

TEST_CASE("if, then and else choose what else is asked") {
  constexpr std::string_view kSchema = R"({
    "if": {"properties": {"kind": {"const": "file"}}, "required": ["kind"]},
    "then": {"required": ["path"]}, "else": {"required": ["text"]}})";

  CHECK(told(kSchema, R"({"kind": "file"})") == ": the member \"path\" is missing");
  CHECK(told(kSchema, R"({"kind": "note"})") == ": the member \"text\" is missing");
  CHECK(fits(kSchema, R"({"text": 1})"));
}

TEST_CASE("members may ask for other members") {
  constexpr std::string_view kSchema = R"({
    "dependentRequired": {"card": ["address"]},
    "dependentSchemas": {"gift": {"required": ["note"]}}})";

  CHECK(told(kSchema, R"({"card": 1})") ==
        ": the member \"address\" is missing; it goes with \"card\"");
  CHECK(told(kSchema, R"({"gift": 1})") == ": the member \"note\" is missing");
  CHECK(fits(kSchema, "{}"));
}

TEST_CASE("patterns describe members by their names") {
  constexpr std::string_view kSchema = R"({
    "patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": {"type": "string"},
    "propertyNames": {"maxLength": 4}})";

  CHECK(fits(kSchema, R"({"x_1": 1, "name": "n"})"));
  CHECK(told(kSchema, R"({"x_1": "1"})") == "/x_1: expected an integer, got a string");
  CHECK(told(kSchema, R"({"name": 1})") == "/name: expected a string, got the number 1");
  CHECK(told(kSchema, R"({"names": "1"})") ==
        "/names: the name \"names\" is not allowed here: expected at most 4 characters, got 5");
}

TEST_CASE("items are described by their place, and counted when they fit") {
  constexpr std::string_view kSchema = R"({
    "prefixItems": [{"type": "string"}], "items": {"type": "integer"},
    "contains": {"minimum": 10}, "minContains": 2, "maxContains": 3})";

  CHECK(fits(kSchema, R"(["a", 10, 11])"));
  CHECK(told(kSchema, R"(["a", "b"])") == "/1: expected an integer, got a string");
  CHECK(told(kSchema, "[1]") == "/0: expected a string, got the number 1");
  CHECK(!fits(kSchema, R"(["a", 10, 11, 12, 13])"));
  CHECK(told(R"({"contains": {"const": 1}})", "[2]") ==
        ": expected at least 1 item of the kind that \"contains\" asks for, got 0");
}

TEST_CASE("more than sixty-four required members are all asked for") {
  std::string required;
  std::string value;
  for (int i = 0; i < 100; ++i) {
    required += fmt::format("{}\"n{}\"", i == 0 ? "" : ",", i);
    if (i != 99) value += fmt::format("{}\"n{}\":0", i == 0 ? "" : ",", i);
  }
  const std::string schema = fmt::format(R"({{"required": [{}]}})", required);

  CHECK(told(schema, "{" + value + "}") == ": the member \"n99\" is missing");
  CHECK(fits(schema, "{" + value + ",\"n99\":0}"));
}

TEST_CASE("references lead to any place of the schema, and round in the value") {
  constexpr std::string_view kTree = R"({
    "$defs": {"a/b~c%": {"type": "string"}},
    "type": "object",
    "properties": {
      "name": {"$ref": "#/$defs/a~1b~0c%25"},
      "children": {"type": "array", "items": {"$ref": "#"}}}})";

  CHECK(fits(kTree, R"({"name": "a", "children": [{"name": "b", "children": []}]})"));
  CHECK(told(kTree, R"({"children": [{}, {"children": [{"name": 1}]}]})") ==
        "/children/1/children/0/name: expected a string, got the number 1");
}

TEST_CASE("beside a reference other keywords count, but not in draft-07") {
  CHECK(!fits(R"({"$ref": "#/$defs/a", "maximum": 1, "$defs": {"a": {}}})", "2"));
  CHECK(fits(R"({"$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"n": {"$ref": "#/definitions/a", "maximum": 1}}, "definitions": {"a": {}}})",
             R"({"n": 2})"));
}

TEST_CASE("annotations and vendors' keywords refuse nothing") {
  CHECK(fits(R"({"title": "t", "description": "d", "default": 1, "examples": [1], "format": "email",
    "deprecated": true, "readOnly": true, "writeOnly": true, "$comment": "c", "x-order": 3,
    "contentMediaType": "text/html", "contentEncoding": "base64", "$id": "https://example.org/a"})",
             "\"no mail\""));
}

TEST_CASE("what is not supported is refused when the schema is loaded, with the way out") {
  CHECK(refused(R"({"properties": {"a": {"minimun": 1}}})") ==
        "/properties/a/minimun: unknown keyword \"minimun\"; did you mean \"minimum\"?");
  CHECK(refused(R"({"frobnicate": 1})") ==
        "/frobnicate: unknown keyword \"frobnicate\"; leave it out, or begin it with \"x-\"");
  CHECK(refused(R"({"nullable": true})") ==
        "/nullable: the keyword \"nullable\" is not supported; add \"null\" to \"type\"");
  CHECK(refused(R"({"items": [{}]})") == "/items: an array of schemas is called \"prefixItems\"");
  CHECK(refused(R"({"$ref": "https://example.org/a"})").starts_with("/$ref: expected a reference"));
  CHECK(refused(R"({"$ref": "#name"})").starts_with("/$ref: anchors are not supported"));
  CHECK(refused(R"({"$ref": "#/$defs/a"})") == "/$ref: \"#/$defs/a\" is not in this schema");
  CHECK(refused(R"({"properties": {"a": {"$id": "b"}}})").starts_with("/properties/a/$id: "));
  CHECK(refused(R"({"$schema": "http://json-schema.org/draft-04/schema#"})") != "");
  CHECK(refused(R"({"required": true})").starts_with("/required: "));
}

TEST_CASE("keywords with values of the wrong kind are refused") {
  for (const std::string_view wrong : {R"({"type": "text"})",
                                       R"({"type": []})",
                                       R"({"enum": 1})",
                                       R"({"minLength": -1})",
                                       R"({"minItems": 1.5})",
                                       R"({"maximum": "1"})",
                                       R"({"multipleOf": 0})",
                                       R"({"multipleOf": -1})",
                                       R"({"pattern": "("})",
                                       R"({"patternProperties": {"[": true}})",
                                       R"({"properties": []})",
                                       R"({"properties": {"a": 1}})",
                                       R"({"allOf": []})",
                                       R"({"anyOf": {}})",
                                       R"({"required": [1]})",
                                       R"({"uniqueItems": 1})",
                                       R"({"dependentRequired": {"a": "b"}})",
                                       R"({"$ref": 1})",
                                       R"({"not": null})",
                                       "1",
                                       "[]",
                                       "",
                                       "{",
                                       R"({"a": 1, "a": 1})"}) {
    CAPTURE(wrong);
    CHECK(refused(wrong) != "");
  }
}

TEST_CASE("references that lead back to themselves are refused") {
  CHECK(refused(R"({"$ref": "#"})") ==
        "/$ref: the reference leads back to itself without going into the value");
  CHECK(refused(R"({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]},
    "b": {"not": {"$ref": "#/$defs/a"}}}})") != "");
  CHECK(refused(R"({"properties": {"a": {"$ref": "#"}}})") == "");
}

TEST_CASE("a long chain of references is followed when compiled, and bounded when asked") {
  std::string schema = R"({"$ref": "#/$defs/n0", "$defs": {"end": {"type": "null"})";
  for (int i = 0; i < 20'000; ++i) {
    schema += fmt::format(R"(,"n{}":{{"$ref":"#/$defs/n{}"}})", i, i + 1);
  }
  schema += R"(,"n20000":{"$ref":"#/$defs/end"}}})";

  CHECK(told(schema, "null").starts_with(": takes too many steps"));
}

TEST_CASE("a schema that is too large or too deep is refused") {
  CHECK(refused("{\"title\":\"" + std::string(std::size_t{1} << 20U, 'a') + "\"}") != "");
  std::string deep = "true";
  for (int i = 0; i < 70; ++i) deep = fmt::format(R"({{"not":{}}})", deep);
  CHECK(refused(deep) != "");
}

TEST_CASE("a schema that multiplies its work ends with a mismatch that says so") {
  std::string schema = R"({"$ref": "#/$defs/n0", "$defs": {"n40": {"type": "null"})";
  for (int i = 0; i < 40; ++i) {
    schema +=
        fmt::format(R"(,"n{}":{{"anyOf":[{{"$ref":"#/$defs/n{}"}},{{"$ref":"#/$defs/n{}"}}]}})", i,
                    i + 1, i + 1);
  }
  schema += "}}";

  CHECK(told(schema, "1").starts_with(": takes too many steps"));
  CHECK(fits(schema, "null"));
}

TEST_CASE("a value nested deeper than a schema can follow ends with a mismatch") {
  const std::string nested = std::string(10'000, '[') + std::string(10'000, ']');
  const json::Document value(nested, {.max_depth = 20'000});
  REQUIRE(value.root());

  CHECK(compiled(R"({"items": {"$ref": "#"}})").mismatch(*value.root()));
  CHECK(!compiled(R"({"type": "array"})").mismatch(*value.root()));
  const std::string twice = fmt::format("[{0},{0}]", nested);
  const json::Document pair(twice, {.max_depth = 20'000});
  CHECK(compiled(R"({"uniqueItems": true})").mismatch(*pair.root()));
}

TEST_CASE("messages stay short however long the value is") {
  const std::string text = "\"" + std::string(10'000, 'x') + "\"";

  CHECK(told(R"({"enum": ["a", "b"]})", text).size() < 200);
  CHECK(told(R"({"additionalProperties": false})", "{" + text + ":1}").size() < 11'000);
}
