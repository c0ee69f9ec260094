#include <doctest/doctest.h>

#include "treaty/config/show.h"

namespace treaty::config {
namespace {

using Changes = std::vector<std::string>;

Configuration usual() {
  Configuration configuration;
  configuration.turns.agents["default"].role.system = "You are brief.";
  configuration.turns.agents["reviewer"].chain = {{.backend = "main", .model = "m"},
                                                  {.backend = "play"},
                                                  {.backend = "files"},
                                                  {.backend = "flow"}};
  configuration.backends["main"] = HttpProvider{.kind = "openai", .key = "secret-1"};
  configuration.backends["play"] = ScriptFile{.path = "/play.yaml", .text = "- One."};
  configuration.backends["files"] = BridgeDirectory{.path = "/in", .agent_name = "reviewer"};
  configuration.backends["flow"] = MachineFile{.path = "/flow.yml", .sha256 = "1"};
  configuration.keys = {{"acme", "a"}};
  return configuration;
}

Changes changes_after(const auto& edit) {
  Configuration after = usual();
  edit(after);
  return changes_between(usual(), after);
}

template <class Kind>
Kind& settings(Configuration& configuration, std::string_view name) {
  return std::get<Kind>(configuration.backends.find(name)->second);
}

}  // namespace

TEST_CASE("the same configuration has no changes") {
  CHECK(changes_after([](Configuration&) {}).empty());
}

TEST_CASE("a changed value is told with its path, the old and the new one") {
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].role.system = "x"; }) ==
        Changes{"agents.default.system: changed"});
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].max_rounds = 2; }) ==
        Changes{"agents.default.max_rounds: changed"});
  CHECK(changes_after([](auto& after) { after.turns.agents["reviewer"].chain[0].model = "n"; }) ==
        Changes{"agents.reviewer.backends[0].model: changed"});
  CHECK(changes_after([](auto& after) { after.http.max_connections = 1; }) ==
        Changes{"http.max_connections: changed"});
}

TEST_CASE("what came and what went is named") {
  CHECK(changes_after([](auto& after) { after.turns.agents.erase("reviewer"); }) ==
        Changes{"agents.reviewer: removed"});
  CHECK(changes_after([](auto& after) {
          after.backends["fast"] = HttpProvider{.kind = "cerebras"};
        }) == Changes{"providers.fast: added"});
  CHECK(changes_after([](auto& after) {
          after.turns.agents["default"].role.tools.push_back({.declaration = {.name = "look"}});
        }) == Changes{"agents.default.tools[0]: added"});
}

TEST_CASE("a secret that differs is told by its path alone") {
  const Changes changes = changes_after([](auto& after) {
    settings<HttpProvider>(after, "main").key = "secret-2";
    after.keys[0].sha256 = "b";
  });

  CHECK(changes == Changes{"keys[0].sha256: changed", "providers.main.key: changed"});
}

TEST_CASE("what cannot change while it runs says so") {
  CHECK(changes_after([](auto& after) { after.listen.port = 1; }) ==
        Changes{"listen: changed (needs a restart)"});
  CHECK(changes_after([](auto& after) { after.workers = 9; }) ==
        Changes{"workers: changed (needs a restart)"});
}

TEST_CASE("tenants and budgets that differ are told") {
  CHECK(changes_after([](auto& after) { after.turns.tenant_budgets["acme"].tokens = 5; }) ==
        Changes{"tenants.acme: added"});
  CHECK(changes_after([](auto& after) { after.turns.agents["default"].budget.tokens = 5; }) ==
        Changes{"agents.default.budget: added"});
}

TEST_CASE("on_cut, the settings of a bridge and of providers are told") {
  CHECK(changes_after([](auto& after) {
          after.turns.agents["default"].on_cut = turns::OnCut::go_on;
        }) == Changes{"agents.default.on_cut: changed"});
  CHECK(changes_after([](auto& after) {
          settings<BridgeDirectory>(after, "files").path = "/out";
        }) == Changes{"agents.reviewer.backends[2].bridge.dir: changed"});
  CHECK(changes_after([](auto& after) {
          settings<HttpProvider>(after, "main").dispatch.max_attempts = 2;
        }) == Changes{"providers.main.dispatch.max_attempts: changed"});
}

TEST_CASE("a file that holds something else is told, though its name is the same") {
  CHECK(changes_after([](auto& after) { settings<ScriptFile>(after, "play").text = "- Two."; }) ==
        Changes{"agents.reviewer.backends[1].script (content): changed"});
  CHECK(changes_after([](auto& after) { settings<MachineFile>(after, "flow").sha256 = "2"; }) ==
        Changes{"agents.reviewer.backends[3].machine (content): changed"});
  CHECK(changes_after([](auto& after) { after.prices_text = "x"; }) ==
        Changes{"prices (content): changed"});
}

}  // namespace treaty::config
