#include <doctest/doctest.h>

#include "treaty/config/sections/sections.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::problems_of;

Given with_tools(const std::string& tools) {
  return {.yaml = "agents:\n  default:\n    backends: [{scripted: demo}]\n    tools:\n" + tools};
}

TEST_CASE("A tool is declared with its schema as JSON") {
  const Given given = with_tools(R"(
    - name: read_file
      run: client
      description: Reads a file.
      parameters:
        type: object
        properties: {path: {type: string, pattern: '^[a-z$]+$$'}}
        required: [path]
    - name: now
)");
  CAPTURE(problems_of(given));
  const auto loaded = load(given.sources());

  REQUIRE(loaded);
  const auto& tools = loaded->turns.agents.at("default").role.tools;
  REQUIRE(tools.size() == 2);
  CHECK(tools[0].declaration.name == "read_file");
  CHECK(tools[0].declaration.description == "Reads a file.");
  CHECK(tools[0].declaration.parameters_json ==
        R"({"type":"object","properties":{"path":{"type":"string","pattern":"^[a-z$]+$$"}},)"
        R"("required":["path"]})");
  REQUIRE(tools[0].parameters);
  CHECK(tools[0].parameters->mismatch_of_text(R"({"path":1})"));
  CHECK(!tools[0].parameters->mismatch_of_text(R"({"path":"a$$"})"));
  CHECK(tools[1].parameters == nullptr);
  CHECK(tools[1].declaration.parameters_json.empty());
}

TEST_CASE("TOOL-02: the name of a tool has 1 to 64 letters, digits, underscores and hyphens") {
  CHECK(problems_of(with_tools("    - name: " + std::string(64, 'a'))) == "");
  for (const std::string& name :
       {std::string("''"), std::string("read file"), std::string("größe"), std::string(65, 'a')}) {
    CAPTURE(name);
    CHECK(problems_of(with_tools("    - name: " + name))
              .starts_with("treaty.yaml:5:13: the name of a tool has 1 to 64 letters"));
  }
}

TEST_CASE("Tools without a name and with the same name are refused") {
  CHECK(problems_of(with_tools("    - {description: Looks.}")) ==
        "treaty.yaml:5:7: a tool needs a `name`\n");
  CHECK(problems_of(with_tools("    - {name: look}\n    - {name: look}")) ==
        "treaty.yaml:6:14: there are two tools named look\n");
  CHECK(problems_of(with_tools("    - look")) ==
        "treaty.yaml:5:7: expected a tool as a map, found a text\n");
}

TEST_CASE("Tools that the server runs are not supported yet") {
  CHECK(problems_of(with_tools("    - {name: look, run: server}")) ==
        "treaty.yaml:5:25: tools that the server runs are not supported yet (write run: client)\n");
  CHECK(problems_of(with_tools("    - {name: look, run: there}")).contains("client or server"));
}

TEST_CASE("A schema that is wrong is told at its place in the file") {
  const std::string problems = problems_of(with_tools(R"(    - name: look
      parameters:
        type: object
        properties:
          path:
            type: strung
)"));
  CHECK(problems.starts_with("treaty.yaml:10:19: "));
  CHECK(problems.contains("at /properties/path/type of the schema"));

  CHECK(problems_of(with_tools("    - {name: look, parameters: {type: string}}"))
            .contains("5:39: the parameters of a tool are an object (write type: object)"));
  CHECK(problems_of(with_tools("    - {name: look, parameters: {}}"))
            .contains("the parameters of a tool are an object"));
  CHECK(problems_of(with_tools("    - {name: look, parameters: [1]}"))
            .contains("expected a JSON Schema as a map"));
}

}  // namespace
}  // namespace treaty::config
