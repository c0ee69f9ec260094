#include <doctest/doctest.h>

#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::loaded;
using testing::problems_of;

const std::string kHash(64, 'a');

TEST_CASE("Every key of sessions, turns and http has its place") {
  const Configuration configuration = loaded({.yaml = "workers: 3\n"
                                                      "sessions: {open: explicit, initial: true}\n"
                                                      "turns:\n"
                                                      "  tool_deadline: 2h\n"
                                                      "  max_running: 7\n"
                                                      "  deadline: 90s\n"
                                                      "http:\n"
                                                      "  always_200: true\n"
                                                      "  max_body: 2MiB\n"
                                                      "  body_memory: 1GiB\n"
                                                      "  max_header: 8KiB\n"
                                                      "  max_connections: 5\n"
                                                      "  header_timeout: 1s\n"
                                                      "  body_timeout: 2s\n"
                                                      "  idle_timeout: 3s\n"
                                                      "  shutdown_timeout: 4s\n"});

  using std::chrono::milliseconds;
  CHECK(configuration.workers == 3);
  CHECK(configuration.turns.explicit_sessions);
  CHECK(configuration.turns.initial_requests);
  CHECK(configuration.turns.tool_deadline == milliseconds(7'200'000));
  CHECK(configuration.turns.max_running_turns == 7);
  CHECK(configuration.turns.agents.at("default").deadline == milliseconds(90'000));
  CHECK(configuration.http.always_200);
  CHECK(configuration.http.max_body_bytes == std::size_t{2} << 20U);
  CHECK(configuration.http.body_memory == std::size_t{1} << 30U);
  CHECK(configuration.http.max_header_bytes == 8'192);
  CHECK(configuration.http.max_connections == 5);
  CHECK(configuration.http.header_timeout == milliseconds(1'000));
  CHECK(configuration.http.body_timeout == milliseconds(2'000));
  CHECK(configuration.http.idle_timeout == milliseconds(3'000));
  CHECK(configuration.http.shutdown_timeout == milliseconds(4'000));
}

TEST_CASE("An empty file, and one with nothing below its keys, has every default") {
  for (const char* yaml : {"# nothing", "agents:\nproviders:\nkeys:\nhttp:\nturns:\nsessions:\n"}) {
    const Configuration configuration = loaded({.yaml = yaml});
    CHECK(configuration.http.max_body_bytes == std::size_t{16} << 20U);
    CHECK(configuration.turns.tool_deadline == std::chrono::hours(24));
    CHECK(!configuration.turns.explicit_sessions);
    CHECK(configuration.turns.agents.contains("default"));
  }
}

TEST_CASE("Numbers and flags may come from variables") {
  const Configuration configuration = loaded(
      {.yaml = "workers: ${WORKERS}\nhttp: {always_200: '${YES}', max_body: '${SIZE:-4KiB}'}",
       .environment = {{"WORKERS", "4"}, {"YES", "true"}}});

  CHECK(configuration.workers == 4);
  CHECK(configuration.http.always_200);
  CHECK(configuration.http.max_body_bytes == 4'096);
}

TEST_CASE("A value cannot bring structure with it") {
  const Configuration configuration =
      loaded({.yaml = "agents: {default: {system: '${TEXT}', backends: [{scripted: demo}]}}",
              .environment = {{"TEXT", "a: b\nlisten: 0.0.0.0:1\n- c"}}});

  CHECK(configuration.turns.agents.at("default").role.system == "a: b\nlisten: 0.0.0.0:1\n- c");
  CHECK(configuration.listen.port == 8088);
}

TEST_CASE("A variable that is not set is a problem at its line") {
  CHECK(problems_of({.yaml = "workers: 1\nlisten: ${ADDRESS}"}) ==
        "treaty.yaml:2:9: the environment variable ADDRESS is not set (set it, or write "
        "${ADDRESS:-default})\n");
}

TEST_CASE("Keys are known by their hash, which is read in either case") {
  const Configuration configuration = loaded(
      {.yaml = "listen: 0.0.0.0:80\nkeys: [{tenant: acme, sha256: " + std::string(64, 'A') + "}]"});

  REQUIRE(configuration.keys.size() == 1);
  CHECK(configuration.keys[0].tenant == "acme");
  CHECK(configuration.keys[0].sha256 == kHash);
}

TEST_CASE("Keys that are double, blank, incomplete or no hash are refused and never quoted") {
  const std::string problems = problems_of({.yaml = "keys:\n"
                                                    "- {tenant: a, sha256: " +
                                                    kHash +
                                                    "}\n"
                                                    "- {tenant: b, sha256: " +
                                                    kHash +
                                                    "}\n"
                                                    "- {tenant: ' ', sha256: hunter2}\n"
                                                    "- {tenant: c}\n"
                                                    "- hunter2\n"
                                                    "- {tenant: d, key: hunter2}\n"});

  CHECK(problems.contains("treaty.yaml:3:3: the same key is there twice"));
  CHECK(problems.contains("treaty.yaml:4:12: this is blank"));
  CHECK(problems.contains("treaty.yaml:4:25: a key is known by its SHA-256"));
  CHECK(problems.contains("treaty.yaml:5:3: a key needs `sha256`"));
  CHECK(problems.contains("treaty.yaml:6:3: a key is a map"));
  CHECK(problems.contains("treaty.yaml:7:15: a key has no key key"));
  CHECK(problems.contains("treaty.yaml:7:3: a key needs `sha256`"));
  CHECK(!problems.contains("hunter2"));
}

TEST_CASE("An address that others can reach is refused without keys") {
  constexpr std::string_view kRefusal =
      "an address that others can reach needs keys, and there are none";
  CHECK(problems_of({.yaml = "workers: 1\nlisten: 0.0.0.0:80"})
            .starts_with("treaty.yaml:2:9: " + std::string(kRefusal)));
  CHECK(problems_of({.flags = {.listen = "[::]:80"}})
            .starts_with("--listen: " + std::string(kRefusal)));
  CHECK(problems_of({.environment = {{"TREATY_LISTEN", "10.0.0.1:80"}}})
            .starts_with("TREATY_LISTEN: " + std::string(kRefusal)));
  CHECK(problems_of({.yaml = "listen: 0.0.0.0:80\nkeys: []"}).contains(kRefusal));
  CHECK(problems_of({.yaml = "listen: 0.0.0.0:80", .flags = {.listen = "127.0.0.1:1"}}) == "");
  CHECK(problems_of({.flags = {.listen = "nowhere"}})
            .starts_with("--listen: the address to listen on lacks its port"));
}

TEST_CASE("A price table is read with the configuration") {
  const std::string table =
      "prices: [{provider: openai, models: [m], from: 2025-01-01, input: 1, output: 2}]";
  const Configuration configuration =
      loaded({.yaml = "prices: mine.yaml", .files = {{"/work/mine.yaml", table}}});
  CHECK(configuration.prices_file == "/work/mine.yaml");
  CHECK(configuration.prices_text == table);

  CHECK(problems_of({.yaml = "prices: mine.yaml"})
            .starts_with("treaty.yaml:1:9: the file cannot be read: No such file"));
  CHECK(problems_of({.yaml = "prices: mine.yaml", .files = {{"/work/mine.yaml", "prices: [1]"}}}) ==
        "treaty.yaml:1:9: the price table mine.yaml is not in order: 1:10: a price is a map\n");
}

TEST_CASE("Words, types and YAML that are wrong are told with what is right") {
  CHECK(problems_of({.yaml = "sessions: {open: explicitly}"}) ==
        "treaty.yaml:1:18: expected implicit or explicit (did you mean explicit?)\n");
  CHECK(problems_of({.yaml = "http: [1]"}) ==
        "treaty.yaml:1:7: expected http as a map, found a list\n");
  CHECK(problems_of({.yaml = "keys: yes"}) ==
        "treaty.yaml:1:7: expected a list of keys, found a text\n");
  CHECK(problems_of({.yaml = "http: {always_200: 1}"}) ==
        "treaty.yaml:1:20: expected true or false, found a number\n");
  CHECK(problems_of({.yaml = "listen: [1]"}) == "treaty.yaml:1:9: expected a text, found a list\n");
  CHECK(problems_of({.yaml = "- listen"}) ==
        "treaty.yaml:1:1: expected the configuration as a map, found a list\n");
  CHECK(problems_of({.yaml = "a: 1\n\tb: 2"}).starts_with("treaty.yaml:2:"));
  CHECK(problems_of({.yaml = "workers: 1\nworkers: 2"}) ==
        "treaty.yaml:2:1: the key workers is there twice\n");
  CHECK(problems_of({.yaml = "turns: {max_running: 0, tool_deadline: 0s}"}) ==
        "treaty.yaml:1:22: expected a whole number, 1 to 1000000\n"
        "treaty.yaml:1:40: expected a duration from 1ms to 365d (with its unit: 500ms, 30s, 5m, "
        "24h, 7d)\n");
}

}  // namespace
}  // namespace treaty::config
