#include "treaty/backends/strict_schema.h"

#include <doctest/doctest.h>

#include <string>

namespace treaty::backends {
namespace {

bool is_strict(std::string_view schema) {
  const json::Document document(schema);
  REQUIRE(document.root());
  return fits_strict_modes(*document.root());
}

// An object with the one member `a`.
std::string with_member(std::string_view schema) {
  return R"({"type":"object","properties":{"a":)" + std::string(schema) +
         R"(},"required":["a"],"additionalProperties":false})";
}

}  // namespace

TEST_CASE("Providers can be held to closed objects whose members are required and typed") {
  CHECK(is_strict(with_member(R"({"type":"string","description":"A word."})")));
  CHECK(is_strict(with_member(R"({"type":["integer","null"]})")));
  CHECK(is_strict(with_member(R"({"type":"string","enum":["x","y"]})")));
  CHECK(is_strict(with_member(R"({"type":"array","items":{"type":"number"}})")));
  CHECK(is_strict(with_member(R"({"anyOf":[{"type":"string"},{"type":"null"}]})")));
  CHECK(is_strict(with_member(with_member(R"({"type":"boolean"})"))));
}

TEST_CASE("A schema that leaves something open, or uses other keywords, is no strict one") {
  CHECK(!is_strict(R"({})"));
  CHECK(!is_strict(R"(true)"));
  CHECK(!is_strict(R"({"type":"object"})"));
  CHECK(!is_strict(R"({"type":"array","items":{"type":"string"}})"));
  CHECK(!is_strict(R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})"));
  CHECK(!is_strict(R"({"type":"object","properties":{"a":{"type":"string"}},"required":[],)"
                   R"("additionalProperties":false})"));
  CHECK(!is_strict(with_member(R"({})")));
  CHECK(!is_strict(with_member(R"({"enum":["x","y"]})")));
  CHECK(!is_strict(with_member(R"({"type":"array"})")));
  CHECK(!is_strict(with_member(R"({"type":"object"})")));
  CHECK(!is_strict(with_member(R"({"type":"string","minLength":3})")));
  CHECK(!is_strict(with_member(R"({"type":["object","null"]})")));
  std::string deep = R"({"type":"string"})";
  for (int i = 0; i < 8; ++i) deep = with_member(deep);
  CHECK(!is_strict(deep));
}

}  // namespace treaty::backends
