#include "treaty/tools/argument_check.h"

#include <doctest/doctest.h>

#include "treaty/tools/tool.h"

namespace treaty::tools {
namespace {

std::string refusal(std::string_view arguments, const schema::Schema* parameters = nullptr) {
  json::Document document;
  return refusal_of_arguments(arguments, parameters, document).value_or("");
}

TEST_CASE("Arguments that are an object pass, and can be read afterwards") {
  json::Document document;

  CHECK_FALSE(refusal_of_arguments(R"({"city": "Oslo"})", nullptr, document));
  CHECK(json::find_member(document.root(), "city")->text() == "Oslo");
}

TEST_CASE("Arguments that are no object are refused, with what they are instead") {
  CHECK(refusal("[1]") == "The arguments are not a JSON object.");
  CHECK(refusal("{\"a\": ").starts_with("The arguments are not valid JSON: "));
  CHECK(refusal("").starts_with("The arguments are not valid JSON: "));
}

TEST_CASE("Arguments over one megabyte are refused before they are read") {
  const std::string large(kMostArgumentBytes + 1, ' ');

  CHECK(refusal(large) == "The arguments have 1048577 bytes; at most 1048576 are allowed.");
}

TEST_CASE("Arguments against the schema are refused, with the place") {
  const auto schema =
      schema::Schema::compile(R"({"type": "object", "properties": {"n": {"type": "integer"}}})");
  REQUIRE(schema);

  CHECK(refusal(R"({"n": 1})", &*schema).empty());
  CHECK(refusal(R"({"n": "x"})", &*schema)
            .starts_with("The arguments do not fit the tool's parameters, at /n: "));
}

TEST_CASE("A tool is declared under its whole name only") {
  const std::vector<ToolDeclaration> tools = {{.name = "search"}, {.name = "read_file"}};

  CHECK(declares(tools, "read_file"));
  CHECK_FALSE(declares(tools, "read"));
  CHECK(no_provider_for("x").is_error);
}

}  // namespace
}  // namespace treaty::tools
