#include "treaty/contracts/schemas.h"

#include <doctest/doctest.h>

#include "treaty/base/json.h"

using namespace treaty;
using namespace treaty::contracts;

TEST_CASE("every contract has a schema of the 2020-12 draft, named by its contract") {
  for (const Contract contract : kContracts) {
    const std::string text = schema_text(contract);
    const json::Document document(text);

    CAPTURE(name_of(contract));
    REQUIRE(document.root());
    CHECK(document.faults().empty());
    CHECK(document.root()->members().find("$schema")->text() ==
          "https://json-schema.org/draft/2020-12/schema");
    CHECK(document.root()->members().find("$id")->text() ==
          "urn:treaty:schema:" + std::string(name_of(contract)));
  }
}

TEST_CASE("the camelCase schema spells the members that way and leaves values alone") {
  const std::string pascal = schema_text(Contract::response, Dialect::pascal);
  const std::string camel = schema_text(Contract::response, Dialect::camel);

  CHECK(pascal.contains("\"SessionId\""));
  CHECK(!camel.contains("\"SessionId\""));
  CHECK(camel.contains("\"sessionId\""));
  CHECK(camel.contains("\"client_tool_continuation\""));
}
