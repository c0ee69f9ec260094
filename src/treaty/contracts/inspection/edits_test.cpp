#include "treaty/contracts/inspection/edits.h"

#include <doctest/doctest.h>

#include "treaty/contracts/contract.h"

using namespace treaty::contracts;

namespace {

// What is left of an object after its member of that name is removed.
std::string without(const std::string& text, std::string_view name) {
  const treaty::json::Document document(text);
  const Place root{.value = *document.root()};
  const Place member{
      .value = *document.root()->members().find(name), .parent = &root, .name = name};
  return apply_edits(text, {removal_of(member)});
}

}  // namespace

TEST_CASE("a member is removed together with one comma, wherever it stands") {
  CHECK(without(R"({ "a": 1, "b": 2, "c": 3 })", "a") == R"({ "b": 2, "c": 3 })");
  CHECK(without(R"({ "a": 1, "b": 2, "c": 3 })", "b") == R"({ "a": 1, "c": 3 })");
  CHECK(without(R"({ "a": 1, "b": 2, "c": 3 })", "c") == R"({ "a": 1, "b": 2 })");
  CHECK(without(R"({ "a": 1 })", "a") == R"({  })");
}

TEST_CASE("a member is inserted as the last one") {
  const std::string full = R"({"a": 1 })";
  const std::string empty = "{}";
  const treaty::json::Document full_document(full);
  const treaty::json::Document empty_document(empty);

  CHECK(apply_edits(full, {insertion_into(Place{.value = *full_document.root()}, "b", "2")}) ==
        R"({"a": 1, "b": 2 })");
  CHECK(apply_edits(empty, {insertion_into(Place{.value = *empty_document.root()}, "b", "2")}) ==
        R"({"b": 2})");
}

TEST_CASE("of two edits that overlap the first counts") {
  CHECK(apply_edits("abcdef", {{1, 3, "X"}, {2, 5, "Y"}, {5, 6, "Z"}}) == "aXdeZ");
}

TEST_CASE("warnings never crowd out a violation, however long they are") {
  const std::string text = R"({"SessionId": "s", "TurnId": "t", "Instruction": "i", ")" +
                           std::string(std::size_t{5} << 20U, 'n') + R"(": 1, "TurnId2": 1, ")" +
                           std::string(std::size_t{5} << 20U, 'm') + R"(": 1, "Mode": "fast"})";

  const Verdict verdict = check(Contract::request, text);

  REQUIRE(verdict.violations.size() == 1);
  CHECK(verdict.violations[0].rule == "REQ-12");
}

TEST_CASE("findings past ten thousand are cut, and the verdict says so") {
  std::string text = R"({"SessionId":"s","TurnId":"t","InputArtifacts":[1)";
  for (int i = 0; i < 12'000; ++i) text += ",1";
  text += "]}";

  const Verdict verdict = check(Contract::request, text);

  CHECK(verdict.violations.size() == 10'000);
  CHECK(verdict.truncated);
}
