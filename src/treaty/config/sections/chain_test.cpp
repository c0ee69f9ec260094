#include <doctest/doctest.h>

#include "treaty/config/sections/sections.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::problems_of;

// Entries of the default agent, one a line from the third on.
Given with_entries(const std::vector<std::string>& entries) {
  std::string yaml = "agents:\n  default: {backends: [\n";
  for (const std::string& entry : entries) yaml += "{scripted: demo" + entry + "},\n";
  return {.yaml = yaml + "]}\n"};
}

std::vector<dispatch::Choice> chain_of(const Given& given) {
  CAPTURE(problems_of(given));
  const auto loaded = load(given.sources());
  REQUIRE(loaded);
  return loaded->turns.agents.at("default").chain;
}

TEST_CASE("The preference of an entry is its place in the list, unless it has one") {
  const auto chain = chain_of(with_entries({"", "", ", preference: 1", ", preference: 1000", ""}));

  REQUIRE(chain.size() == 5);
  CHECK(chain[0].preference == 1);
  CHECK(chain[1].preference == 2);
  CHECK(chain[2].preference == 1);
  CHECK(chain[3].preference == 1'000);
  CHECK(chain[4].preference == 5);
  CHECK(chain_of({}).at(0).preference == 1);
}

TEST_CASE("An entry weighs one, unless it says more") {
  const auto chain = chain_of(with_entries({"", ", weight: 3", ", weight: 1000"}));

  CHECK(chain.at(0).weight == 1);
  CHECK(chain.at(1).weight == 3);
  CHECK(chain.at(2).weight == 1'000);
}

TEST_CASE("Failures that lead to an entry are a list or one word") {
  const auto chain = chain_of(with_entries(
      {"",
       ", on: [context_length, content_filter, model_unavailable, auth_error, rate_limit, "
       "timeout, server_error, invalid_request]",
       ", on: timeout", ", on: "}));

  CHECK(chain.at(0).on.empty());
  CHECK(chain.at(1).on == std::vector<std::string>{"context_length", "content_filter",
                                                   "model_unavailable", "auth_error", "rate_limit",
                                                   "timeout", "server_error", "invalid_request"});
  CHECK(chain.at(2).on == std::vector<std::string>{"timeout"});
  CHECK(chain.at(3).on.empty());
}

TEST_CASE("Preferences and weights have bounds") {
  for (const char* wrong :
       {", preference: 0", ", preference: 1001", ", preference: -1", ", preference: first",
        ", preference: 1.5", ", weight: 0", ", weight: 1001", ", weight: 0.5", ", weight: "}) {
    CAPTURE(wrong);
    CHECK(problems_of(with_entries({"", wrong})).contains("treaty.yaml:4:"));
    CHECK(problems_of(with_entries({"", wrong})).contains("expected a whole number, 1 to 1000"));
  }
}

TEST_CASE("A failure that there is not is told, with the one that was meant") {
  CHECK(problems_of(with_entries({"", ", on: [timeout, contxt_length]"})) ==
        "treaty.yaml:4:32: expected context_length or content_filter or model_unavailable or "
        "auth_error or rate_limit or timeout or server_error or invalid_request (did you mean "
        "context_length?)\n");
  CHECK(problems_of(with_entries({"", ", on: timeot"})).contains("did you mean timeout?"));
  CHECK(problems_of(with_entries({"", ", on: {timeout: 1}"})) ==
        "treaty.yaml:4:22: expected a list of failures, found a map\n");
  CHECK(problems_of(with_entries({"", ", on: [[timeout]]"})).starts_with("treaty.yaml:4:23: "));
  CHECK(problems_of(with_entries({"", ", on: [timeout, rate_limit, timeout]"})) ==
        "treaty.yaml:4:44: timeout is there twice\n");
  CHECK(problems_of(with_entries({"", ", on: []"})) ==
        "treaty.yaml:4:22: no failure leads to this backend (leave `on` out for the usual ones)\n");
}

TEST_CASE("An agent all of whose backends wait for failures asks nobody first") {
  CHECK(problems_of(with_entries({", on: timeout", ", on: [rate_limit]"})) ==
        "treaty.yaml:2:23: the agent default asks nobody first: all its backends have `on` (leave "
        "`on` out of one of them)\n");
  CHECK(problems_of(with_entries({", on: timeout", ""})) == "");
}

TEST_CASE("A failure that a variable names is not told") {
  Given given = with_entries({"", ", on: '${CODE}'"});
  given.environment["CODE"] = "rate_limit";
  CHECK(chain_of(given).at(1).on == std::vector<std::string>{"rate_limit"});

  given.environment["CODE"] = "hunter2";
  CHECK(problems_of(given).contains("expected context_length or"));
  CHECK(!problems_of(given).contains("hunter2"));
}

}  // namespace
}  // namespace treaty::config
