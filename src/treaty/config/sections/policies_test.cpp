#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/config/sections/sections.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using dispatch::Policy;
using testing::Given;
using testing::problems_of;

// The `dispatch` maps of a provider, of an agent that asks it, and of the entry that names it.
struct Maps {
  std::string provider{};
  std::string agent{};
  std::string entry{};

  Given given() const {
    return {.yaml = "providers: {main: {kind: openai, key: k, dispatch: {" + provider +
                    "}}}\nagents:\n  default:\n    dispatch: {" + agent +
                    "}\n    backends:\n      - {provider: main, dispatch: {" + entry + "}}\n"};
  }
};

Policy policy_of(const Given& given) {
  CAPTURE(problems_of(given));
  const auto loaded = load(given.sources());
  REQUIRE(loaded);
  return loaded->turns.agents.at("default").chain.at(0).policy;
}

Policy policy_of(const Maps& maps) { return policy_of(maps.given()); }

std::string problems_of_entry(const std::string& members) {
  return problems_of(Maps{.entry = members}.given());
}

TEST_CASE("Without a word the policy is the default") {
  CHECK(policy_of(Maps{}) == Policy{});
  CHECK(policy_of(Given{}) == Policy{});
  CHECK(policy_of(Given{.yaml = "agents: {default: {dispatch: , backends: [{scripted: demo, "
                                "dispatch: }]}}"}) == Policy{});
}

TEST_CASE("Every key of dispatch has its place") {
  const Policy policy = policy_of(
      Maps{.entry = "max_wait: 90s, max_attempts: 9, backoff: [1s, 1500ms, 0s], jitter: 0.25, "
                    "max_concurrent: 8, breaker_failures: 6, breaker_open: 2m, connect: 3s, "
                    "first_token: 1m, stall: 500ms"});

  CHECK(policy == Policy{.max_wait = 90,
                         .max_attempts = 9,
                         .backoff = dispatch::Backoffs{1, 1.5, 0},
                         .jitter = 0.25,
                         .max_concurrent = 8,
                         .breaker_failures = 6,
                         .breaker_open = 120,
                         .connect = 3,
                         .first_token = 60,
                         .stall = 0.5});
}

TEST_CASE("The entry comes before the agent, the agent before the provider, key by key") {
  const Policy policy = policy_of(
      Maps{.provider = "max_wait: 1s, max_attempts: 11, backoff: [1s, 2s], breaker_failures: 0",
           .agent = "max_wait: 2s, max_attempts: 12, jitter: 0",
           .entry = "max_wait: 3s, max_concurrent: 4"});

  CHECK(policy == Policy{.max_wait = 3,
                         .max_attempts = 12,
                         .backoff = dispatch::Backoffs{1, 2},
                         .jitter = 0,
                         .max_concurrent = 4,
                         .breaker_failures = 0});
}

TEST_CASE("A nearer list of backoffs replaces the wider one as a whole") {
  CHECK(policy_of(Maps{.provider = "backoff: [1s, 2s, 3s]", .agent = "backoff: [9s]"}).backoff ==
        std::vector<dispatch::Seconds>{9});
}

TEST_CASE(
    "The dispatch of a provider is for its own entries, that of an agent for all of its own") {
  const auto loaded = load(Given{.yaml = R"(
providers:
  one: {kind: openai, key: k, dispatch: {max_attempts: 1}}
  two: {kind: groq, key: k}
agents:
  a: {dispatch: {max_wait: 7s}, backends: [{provider: one}, {provider: two}, {scripted: demo}]}
  b: {backends: [{provider: two}, {provider: one}, {bridge: {dir: room}, dispatch: {jitter: 1}}]}
)"}
                               .sources());

  REQUIRE(loaded);
  const auto& a = loaded->turns.agents.at("a").chain;
  CHECK(a.at(0).policy == Policy{.max_wait = 7, .max_attempts = 1});
  CHECK(a.at(1).policy == Policy{.max_wait = 7});
  CHECK(a.at(2).policy == Policy{.max_wait = 7});
  const auto& b = loaded->turns.agents.at("b").chain;
  CHECK(b.at(0).policy == Policy{});
  CHECK(b.at(1).policy == Policy{.max_attempts = 1});
  CHECK(b.at(2).policy == Policy{.jitter = 1});
}

TEST_CASE("An agent without backends asks the usual one as patiently as it says") {
  const Given given{.yaml =
                        "providers: {main: {kind: openai, key: k, dispatch: {max_attempts: 2, "
                        "jitter: 0}}}\nagents: {default: {dispatch: {max_attempts: 3}}}"};

  CHECK(policy_of(given) == Policy{.max_attempts = 3, .jitter = 0});
  CHECK(policy_of(Given{.yaml = "agents: {default: {dispatch: {max_wait: 0s}}}"}) ==
        Policy{.max_wait = 0});
}

TEST_CASE("One duration is a list of backoffs, and no wait is one") {
  CHECK(policy_of(Maps{.entry = "backoff: 500ms"}).backoff == std::vector<dispatch::Seconds>{0.5});
  CHECK(policy_of(Maps{.entry = "backoff: 0s, max_wait: 0s"}) ==
        Policy{.max_wait = 0, .backoff = dispatch::Backoffs{0}});
}

TEST_CASE("What dispatch may say has bounds, and both ends are inside") {
  CHECK(policy_of(Maps{.entry = "max_wait: 24h, max_attempts: 100, backoff: [24h], jitter: 1, "
                                "max_concurrent: 100000, breaker_failures: 1000, breaker_open: "
                                "24h"}) == Policy{.max_wait = 86'400,
                                                  .max_attempts = 100,
                                                  .backoff = dispatch::Backoffs{86'400},
                                                  .jitter = 1,
                                                  .max_concurrent = 100'000,
                                                  .breaker_failures = 1'000,
                                                  .breaker_open = 86'400});
  CHECK(policy_of(Maps{.entry = "max_attempts: 1, jitter: 0, max_concurrent: 0, "
                                "breaker_failures: 0, breaker_open: 1ms"}) ==
        Policy{.max_attempts = 1, .jitter = 0, .breaker_failures = 0, .breaker_open = 0.001});
  for (const char* wrong : {"max_wait: 25h",
                            "max_wait: 5",
                            "max_wait: -1s",
                            "max_attempts: 0",
                            "max_attempts: 101",
                            "max_attempts: 1.5",
                            "backoff: 25h",
                            "backoff: [1s, 25h]",
                            "backoff: [1]",
                            "backoff: ",
                            "backoff: {a: 1s}",
                            "jitter: -0.1",
                            "jitter: 1.1",
                            "jitter: .nan",
                            "jitter: high",
                            "max_concurrent: -1",
                            "max_concurrent: 100001",
                            "breaker_failures: -1",
                            "breaker_failures: 1001",
                            "breaker_open: 0s",
                            "breaker_open: 25h",
                            "breaker_open: [1s]"}) {
    CAPTURE(wrong);
    CHECK(problems_of_entry(wrong).starts_with("treaty.yaml:6:"));
  }
}

TEST_CASE("Mistakes of dispatch are told at their place, wherever it stands") {
  CHECK(problems_of_entry("max_wait: soon") ==
        "treaty.yaml:6:47: expected a duration from 0s to 24h (with its unit: 500ms, 30s, 5m, 24h, "
        "7d)\n");
  CHECK(problems_of_entry("breaker_open: 0s") ==
        "treaty.yaml:6:51: expected a duration from 1ms to 24h (with its unit: 500ms, 30s, 5m, "
        "24h, 7d)\n");
  CHECK(problems_of_entry("backoff: []") ==
        "treaty.yaml:6:46: expected 1 to 20 durations (such as [2s, 8s, 16s]; the last one stays, "
        "and 0s waits for nothing)\n");
  CHECK(problems_of(Maps{.agent = "max_atempts: 2"}.given()) ==
        "treaty.yaml:4:16: dispatch has no key max_atempts (did you mean max_attempts?)\n");
  CHECK(problems_of(Maps{.provider = "backoff: [2s, 8]"}.given()) ==
        "treaty.yaml:1:67: expected a duration from 0s to 24h (with its unit: 500ms, 30s, 5m, 24h, "
        "7d)\n");
  CHECK(
      problems_of({.yaml = "agents: {default: {dispatch: fast, backends: [{scripted: demo}]}}"}) ==
      "treaty.yaml:1:30: expected dispatch as a map, found a text\n");
}

TEST_CASE("There are at most 20 backoffs") {
  std::string list = "1s";
  for (int i = 1; i < 20; ++i) list += ", 1s";
  CHECK(policy_of(Maps{.entry = "backoff: [" + list + "]"}).backoff->size() == 20);
  CHECK(problems_of_entry("backoff: [" + list + ", 1s]").contains("expected 1 to 20 durations"));
}

TEST_CASE("A value of dispatch may come from a variable, which no message holds") {
  Given given = Maps{.entry = "max_wait: '${WAIT}', max_attempts: '${TRIES:-4}'"}.given();
  given.environment["WAIT"] = "20s";
  CHECK(policy_of(given) == Policy{.max_wait = 20, .max_attempts = 4});

  given.environment["WAIT"] = "hunter2";
  CHECK(problems_of(given).contains("expected a duration"));
  CHECK(!problems_of(given).contains("hunter2"));
}

TEST_CASE("What is overridden is what is written, and nothing else") {
  const bool holds = rc::check([] {
    const Policy wide{.max_attempts = *rc::gen::inRange(1, 100), .jitter = 0.5};
    const auto attempts = *rc::gen::maybe(rc::gen::inRange(1, 100));
    const auto open = *rc::gen::maybe(rc::gen::inRange(1, 100));
    PolicyOverrides overrides;
    if (attempts) overrides.max_attempts = *attempts;
    if (open) overrides.breaker_open = *open;

    Policy expected = wide;
    if (attempts) expected.max_attempts = *attempts;
    if (open) expected.breaker_open = *open;

    RC_ASSERT(overridden(wide, overrides) == expected);
    RC_ASSERT(overridden(overridden(wide, overrides), overrides) == expected);
  });
  CHECK(holds);
}

}  // namespace
}  // namespace treaty::config
