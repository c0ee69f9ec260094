#include "treaty/cli/serve/changes.h"

#include <doctest/doctest.h>

namespace treaty::cli::serve {
namespace {

using Changes = std::vector<std::string>;

config::Configuration usual() {
  config::Configuration configuration;
  configuration.turns.agents["default"].role.system = "You are brief.";
  configuration.turns.agents["reviewer"].chain = {{.backend = "main", .model = "m"}};
  configuration.providers["main"] = {.kind = "openai", .key = "secret-1"};
  configuration.keys = {{"acme", "a"}};
  return configuration;
}

Changes changes_after(const auto& edit) {
  config::Configuration after = usual();
  edit(after);
  return changes_between(usual(), after);
}

}  // namespace

TEST_CASE("the same configuration has no changes") {
  CHECK(changes_after([](config::Configuration&) {}).empty());
}

TEST_CASE("agents and providers that came, went or differ are named") {
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].role.system = "x"; }) ==
        Changes{"agent default has changed"});
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].max_rounds = 2; }) ==
        Changes{"agent default has changed"});
  CHECK(changes_after([](auto& after) {
          after.turns.agents["default"].conversations["review"].mode = "Review";
        }) == Changes{"agent default has changed"});
  CHECK(changes_after([](auto& after) {
          after.turns.agents["default"].role.tools.push_back({.declaration = {.name = "look"}});
        }) == Changes{"agent default has changed"});
  CHECK(changes_after([](auto& after) { after.turns.agents.erase("reviewer"); }) ==
        Changes{"agent reviewer is gone"});
  CHECK(changes_after([](auto& after) { after.providers["fast"].kind = "cerebras"; }) ==
        Changes{"provider fast is new"});
}

TEST_CASE("a secret that differs is told without it") {
  const Changes changes = changes_after([](auto& after) {
    after.providers["main"].key = "secret-2";
    after.keys.push_back({"other", "b"});
  });

  CHECK(changes == Changes{"provider main has changed", "keys have changed (2 of them now)"});
}

TEST_CASE("what cannot change while it runs says so") {
  CHECK(changes_after([](auto& after) { after.listen.port = 1; }) ==
        Changes{"listen has changed: needs a restart"});
  CHECK(changes_after([](auto& after) { after.store = "sqlite:///other.db"; }) ==
        Changes{"store has changed: needs a restart"});
  CHECK(changes_after([](auto& after) { after.workers = 9; }) ==
        Changes{"workers has changed: needs a restart"});
}

TEST_CASE("rules and limits are told as a whole") {
  CHECK(changes_after([](auto& after) {
          after.turns.explicit_sessions = true;
          after.http.max_connections = 1;
        }) ==
        Changes{"the rules of sessions and turns have changed", "the limits of HTTP have changed"});
}

}  // namespace treaty::cli::serve
