#include "treaty/templates/value.h"

#include <doctest/doctest.h>

#include "treaty/testing/templates/evaluating.h"

namespace treaty::templates {
namespace {

using testing::value_of;

bool are_equal_texts(std::string_view left, std::string_view right) {
  return are_equal(value_of(left), value_of(right)) && are_equal(value_of(right), value_of(left));
}

TEST_CASE("Null, false, zeros and what is empty are false, and nothing else") {
  CHECK(!is_true(value_of("null")));
  CHECK(!is_true(value_of("false")));
  CHECK(!is_true(value_of("0")));
  CHECK(!is_true(value_of("-0.0")));
  CHECK(!is_true(value_of(R"("")")));
  CHECK(!is_true(value_of("[]")));
  CHECK(!is_true(value_of("{}")));

  CHECK(is_true(value_of("0.001")));
  CHECK(is_true(value_of(R"("0")")));
  CHECK(is_true(value_of("[null]")));
  CHECK(is_true(value_of(R"({"a": null})")));
  CHECK(is_true(value_of("18446744073709551615")));
}

TEST_CASE("Numbers are equal by value, booleans with them") {
  CHECK(are_equal_texts("1", "1.0"));
  CHECK(are_equal_texts("1", "true"));
  CHECK(are_equal_texts("0.0", "false"));
  CHECK(are_equal_texts("-0.0", "0"));
  CHECK(!are_equal_texts("1", R"("1")"));
  CHECK(!are_equal_texts("0", "null"));
  CHECK(!are_equal_texts("9007199254740993", "9007199254740992.0"));
  CHECK(!are_equal_texts("9223372036854775807", "9223372036854775808.0"));
}

TEST_CASE("Lists and objects are equal when what they hold is, whatever the order of members") {
  CHECK(are_equal_texts(R"([1, {"a": [true]}])", R"([1.0, {"a": [1]}])"));
  CHECK(are_equal_texts(R"({"a": 1, "b": 2})", R"({"b": 2, "a": 1})"));
  CHECK(!are_equal_texts("[1, 2]", "[2, 1]"));
  CHECK(!are_equal_texts("[1]", "[1, 1]"));
  CHECK(!are_equal_texts(R"({"a": 1})", R"({"b": 1})"));
  CHECK(!are_equal_texts("[]", "{}"));
}

TEST_CASE("Doubles print as short as they can, with a point or an exponent") {
  CHECK(print(1.0) == "1.0");
  CHECK(print(-0.0) == "-0.0");
  CHECK(print(0.1) == "0.1");
  CHECK(print(1e15) == "1000000000000000.0");
  CHECK(print(1e16) == "1e+16");
  CHECK(print(1.5e300) == "1.5e+300");
  CHECK(print(0.0001) == "0.0001");
  CHECK(print(0.00001) == "1e-05");
  CHECK(print(1e-7) == "1e-07");
  CHECK(print(123456789012345680.0) == "1.2345678901234568e+17");
}

TEST_CASE("Lists and objects print as JSON with a space after comma and colon") {
  CHECK(print(value_of(R"({"k": 1.0, "j": [1, null, true, "né\n"]})")) ==
        R"({"k": 1.0, "j": [1, null, true, "né\n"]})");
  CHECK(print(value_of("[]")) == "[]");
  CHECK(print(value_of("{}")) == "{}");
}

TEST_CASE("True, False and None print as Python writes them, and strings as they are") {
  CHECK(print(true) == "True");
  CHECK(print(false) == "False");
  CHECK(print(nullptr) == "None");
  CHECK(print("a \"b\"") == "a \"b\"");
  CHECK(print(-7) == "-7");
}

TEST_CASE("Indented JSON has a line for each element") {
  CHECK(print_indented_json(value_of(R"({"a": [1, {}], "b": []})"), 2) ==
        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

}  // namespace
}  // namespace treaty::templates
