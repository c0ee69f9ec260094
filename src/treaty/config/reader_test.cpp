#include "treaty/config/reader.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace treaty::config {
namespace {

std::optional<std::string> environment(std::string_view name) {
  if (name == "NAME") return "value";
  if (name == "EMPTY") return "";
  if (name == "NESTED") return "${NAME} $$";
  if (name == "BYTES") return "\xFF";
  return std::nullopt;
}

std::string expanded(std::string_view text) {
  const auto out = expand(text, environment);
  return out ? *out : "fault: " + out.error().message;
}

TEST_CASE("A variable stands for its value") {
  CHECK(expanded("${NAME}") == "value");
  CHECK(expanded("a${NAME}b${NAME}c") == "avaluebvaluec");
  CHECK(expanded("${EMPTY}") == "");
}

TEST_CASE("A default stands for a variable that is not set or empty") {
  CHECK(expanded("${MISSING:-other}") == "other");
  CHECK(expanded("${EMPTY:-other}") == "other");
  CHECK(expanded("${NAME:-other}") == "value");
  CHECK(expanded("${MISSING:-}") == "");
  CHECK(expanded("${MISSING:-a:-b$c}") == "a:-b$c");
}

TEST_CASE("A dollar is two dollars, or one that no brace follows") {
  CHECK(expanded("$$") == "$");
  CHECK(expanded("$${NAME}") == "${NAME}");
  CHECK(expanded("5$ and $NAME") == "5$ and $NAME");
  CHECK(expanded("$") == "$");
}

TEST_CASE("What a variable holds is not looked at again") {
  CHECK(expanded("${NESTED}") == "${NAME} $$");
}

TEST_CASE("A variable that is not set, a missing brace and a wrong name are faults") {
  CHECK(expanded("${MISSING}") == "fault: the environment variable MISSING is not set");
  CHECK(expanded("${NAME") == "fault: ${ is never closed");
  CHECK(expanded("${}") == "fault: ${…} does not hold the name of a variable");
  CHECK(expanded("${1A}") == "fault: ${…} does not hold the name of a variable");
  CHECK(expanded("${NAME:x}") == "fault: ${…} does not hold the name of a variable");
  CHECK(expanded("${BYTES}") == "fault: the environment variable does not hold UTF-8");
}

TEST_CASE("Any text comes back when its dollars are doubled") {
  const bool holds = rc::check([](const std::string& text) {
    std::string doubled;
    for (const char c : text) doubled.append(c == '$' ? 2 : 1, c);
    RC_ASSERT(expand(doubled, environment).value_or("a fault") == text);
  });
  CHECK(holds);
}

}  // namespace
}  // namespace treaty::config
