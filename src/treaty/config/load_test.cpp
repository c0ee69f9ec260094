#include "treaty/config/load.h"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::problems_of;

TEST_CASE("Without a file and a key the built-in demo answers on the loopback address") {
  const auto loaded = load(Given{}.sources());

  REQUIRE(loaded);
  CHECK(loaded->listen == Listen{"127.0.0.1", 8088});
  CHECK(loaded->store == "sqlite:///home/ada/.local/state/treaty/treaty.db");
  CHECK(loaded->source.empty());
  const turns::Agent& agent = loaded->turns.agents.at("default");
  REQUIRE(agent.chain.size() == 1);
  CHECK(agent.chain[0].backend == "scripted:demo");
  CHECK(loaded->find_backend<ScriptFile>("scripted:demo")->text.contains("rules:"));
  CHECK(agent.role.tools.size() == 2);
  CHECK(loaded->notes.front().contains("OPENAI_API_KEY"));
}

TEST_CASE("Without a file the agent is on the first provider whose key is in the environment") {
  const auto loaded =
      load(Given{.environment = {{"GROQ_API_KEY", "g"}, {"ANTHROPIC_API_KEY", " a "}}}.sources());

  REQUIRE(loaded);
  const turns::Agent& agent = loaded->turns.agents.at("default");
  CHECK(agent.chain[0].backend == "anthropic");
  CHECK(!agent.chain[0].model.empty());
  CHECK(agent.role.tools.empty());
  CHECK(loaded->find_backend<HttpProvider>("anthropic")->key == "a");
  CHECK(loaded->find_backend<HttpProvider>("anthropic")->base_url ==
        "https://api.anthropic.com/v1");
  CHECK(loaded->backends_of<ScriptFile>().empty());
  CHECK(loaded->notes.front().contains("ANTHROPIC_API_KEY is set"));
}

TEST_CASE("A file without agents gets an agent on its first provider") {
  const auto loaded = load(Given{.yaml = "providers:\n"
                                         "  zeta: {kind: openai, key: k}\n"
                                         "  alpha: {kind: anthropic, key: k}\n"}
                               .sources());

  REQUIRE(loaded);
  CHECK(loaded->turns.agents.at("default").chain[0].backend == "zeta");
  CHECK(loaded->turns.agents.at("default").chain[0].model == "gpt-5-mini");
}

TEST_CASE("A file without agents says which model when its first provider has no usual one") {
  CHECK(problems_of({.yaml = "providers:\n  own: {kind: ollama}\n"}) ==
        "treaty.yaml:2:3: say which model of own (agents: {default: {backends: [{provider: own, "
        "model: NAME}]}})\n");
}

TEST_CASE("Flags come before the environment, that before the file") {
  Given given{.yaml = "listen: 127.0.0.1:1\nstore: sqlite:///var/db"};
  CHECK(load(given.sources())->listen.port == 1);
  CHECK(load(given.sources())->store == "sqlite:///var/db");

  given.environment["TREATY_LISTEN"] = "127.0.0.1:2";
  CHECK(load(given.sources())->listen.port == 2);

  given.flags = {.listen = "[::1]:3", .state_dir = "state"};
  CHECK(load(given.sources())->listen == Listen{"::1", 3});
  CHECK(load(given.sources())->store == "sqlite:///work/state/treaty.db");
}

TEST_CASE("The file is the one of --config, of TREATY_CONFIG, or treaty.yaml") {
  Given given{.yaml = "workers: 1", .files = {{"other.yaml", "workers: 2"}, {"a/b", "workers: 3"}}};
  CHECK(load(given.sources())->workers == 1);

  given.environment["TREATY_CONFIG"] = "other.yaml";
  CHECK(load(given.sources())->workers == 2);

  given.flags.config = "a/b";
  CHECK(load(given.sources())->workers == 3);
  CHECK(load(given.sources())->source == "a/b");

  given.flags.config = "missing.yaml";
  CHECK(problems_of(given) == "missing.yaml: cannot be read: No such file or directory\n");
}

TEST_CASE("All that is wrong is told at once, in the order of the file") {
  const std::string problems = problems_of({.yaml = "lisen: 127.0.0.1:80\n"
                                                    "workers: many\n"
                                                    "http: {max_body: 1TiB}\n"
                                                    "agents:\n"
                                                    "  default:\n"
                                                    "    backends: [{provider: main}]\n"
                                                    "    deadline: 5\n"});

  CHECK(problems ==
        "treaty.yaml:1:1: the configuration has no key lisen (did you mean listen?)\n"
        "treaty.yaml:2:10: expected a whole number, 0 to 1024\n"
        "treaty.yaml:3:18: expected a size from 1KiB to 16MiB (such as 16MiB, 64KiB, or a number "
        "of bytes)\n"
        "treaty.yaml:6:27: there is no provider main (add it under `providers`)\n"
        "treaty.yaml:7:15: expected a duration from 1ms to 24h (with its unit: 500ms, 30s, 5m, "
        "24h, 7d)\n");
}

TEST_CASE("docs/reference/config.md has a row for every key that is read, and for no other") {
  std::ifstream file(TREATY_SOURCE_DIR "/docs/reference/config.md");
  std::set<std::string> documented;
  for (std::string line; std::getline(file, line);) {
    const std::size_t end = line.find('`', 3);
    if (line.starts_with("| `") && end != line.npos) documented.insert(line.substr(3, end - 3));
  }
  const std::vector<std::string> keys = known_keys();
  const std::set<std::string> read(keys.begin(), keys.end());

  std::vector<std::string> missing;
  std::ranges::set_symmetric_difference(documented, read, std::back_inserter(missing));
  CHECK(fmt::format("{}", fmt::join(missing, ", ")) == "");
}

}  // namespace
}  // namespace treaty::config
