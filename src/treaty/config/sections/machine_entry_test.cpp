#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "treaty/machines/machine.h"
#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::problems_of;

std::string machine_of(std::string_view agent, std::string_view more = "") {
  return fmt::format(R"(spec: flatmachine
spec_version: "4.0"
data:
  agents: {{a: {}}}
  {}
  states:
    ask: {{agent: a, transitions: [{{to: end}}]}}
    end: {{type: final}}
)",
                     agent, more);
}

// In flow style: it may also be written into a machine.
std::string flat_agent(std::string_view profile) {
  return fmt::format(
      R"({{spec: flatagent, spec_version: "4.0", data: {{model: {{name: claude-haiku-4-5, {}}}, user: Hi.}}}})",
      profile);
}

Given with_machine(std::string machine, const std::string& more = "") {
  return {.yaml = "agents:\n  default: {backends: [{machine: m.yml}]}\n" + more,
          .files = {{"/work/m.yml", std::move(machine)}}};
}

const std::string kWriter = "  writer: {backends: [{scripted: demo}]}\n";

TEST_CASE("A machine is a backend that is tried once and has its name for a model") {
  const auto configuration = load(with_machine(machine_of("writer"), kWriter).sources());

  REQUIRE(configuration);
  const auto& choice = configuration->turns.agents.at("default").chain.front();
  CHECK(choice.backend == "machine:m.yml");
  CHECK(choice.model == "machine");
  CHECK(choice.policy.max_attempts == 1);
  CHECK(choice.policy.breaker_failures == 0);
  const auto& file = *configuration->find_backend<MachineFile>("machine:m.yml");
  CHECK(file.path == "/work/m.yml");
  CHECK(file.machine->directory == "/work");
}

TEST_CASE("How often it is tried may be written, on the entry or on the agent") {
  Given given = with_machine(machine_of("writer"), kWriter);
  given.yaml.replace(given.yaml.find("m.yml"), 5, "m.yml, dispatch: {max_attempts: 3}");
  const auto configuration = load(given.sources());

  REQUIRE(configuration);
  CHECK(configuration->turns.agents.at("default").chain.front().policy.max_attempts == 3);
}

TEST_CASE("What is wrong with the machine is told at its own place, by its rule, once") {
  std::string machine = machine_of("writer");
  machine.replace(machine.find("to: end"), 7, "to: nd");
  const std::string other = "  other: {backends: [{machine: m.yml}]}\n" + kWriter;

  const std::string problems = problems_of(with_machine(machine, other));

  CHECK(problems.starts_with("/work/m.yml:7:"));
  CHECK(problems.contains("MCH-08"));
  CHECK(std::ranges::count(problems, '\n') == 1);
}

TEST_CASE("Machines that a machine names are read from beside it") {
  Given given = with_machine(machine_of("writer", "machines: {b: deep/b.yml}"), kWriter);
  CHECK(problems_of(given).starts_with("/work/deep/b.yml: the machine 'b'"));

  given.files["/work/deep/b.yml"] = machine_of("writer", "machines: {c: c.yml}");
  given.files["/work/deep/c.yml"] = machine_of("writer", "machines: {b: b.yml}");
  CHECK(problems_of(given) == "");

  given.files["/work/deep/c.yml"] = "spec: flatagent\n";
  CHECK(problems_of(given).contains("/work/deep/c.yml:1:"));
}

TEST_CASE("An agent of a machine is a file or an agent of treaty.yaml") {
  CHECK(problems_of(with_machine(machine_of("nobody"))).contains("2:34: 'nobody'"));
  CHECK(problems_of(with_machine(machine_of("{type: treaty, ref: nobody}"))).contains("'nobody'"));
  CHECK(problems_of(with_machine(machine_of("{type: treaty, ref: writer}"), kWriter)) == "");
  Given file = with_machine(machine_of("agents/w.yml"));
  file.files["/work/agents/w.yml"] = flat_agent("");
  CHECK(problems_of(file) == "");
}

TEST_CASE("A FlatAgent of a machine that cannot be read is a problem of the entry, with its file") {
  Given file = with_machine(machine_of("agents/w.yml"));
  file.files["/work/agents/w.yml"] = "spec: flatagent\n";
  CHECK(problems_of(file) ==
        "treaty.yaml:2:34: 'a', an agent of the machine machine: /work/agents/w.yml: `data` is "
        "missing\n");

  file.files["/work/agents/w.yml"] = flat_agent("reasoning: {efort: low}");
  CHECK(problems_of(file).contains("`reasoning` of the model has the unknown member efort"));
}

TEST_CASE("Reasoning that the provider of a FlatAgent does not have is refused") {
  const std::string wrong = flat_agent("provider: openai, reasoning: {budget_tokens: 2000}");
  Given file = with_machine(machine_of("w.yml"));
  file.files["/work/w.yml"] = wrong;
  CHECK(problems_of(file).contains("openai takes no budget_tokens; use effort"));
  CHECK(problems_of(with_machine(machine_of("{type: flatagent, config: " + wrong + "}")))
            .contains("openai takes no budget_tokens; use effort"));
  CHECK(problems_of(with_machine(machine_of(wrong)))
            .contains("openai takes no budget_tokens; use effort"));

  file.files["/work/w.yml"] = flat_agent("provider: house, reasoning: {effort: high}");
  CHECK(problems_of(file) == "");
  file.yaml += "providers: {house: {kind: anthropic, key: any}}\n";
  CHECK(problems_of(file).contains("w.yml: `reasoning` of the model: claude-haiku-4-5 takes no"));
}

TEST_CASE("An agent that would ask itself is refused, however long the way") {
  const std::string itself =
      "the agent default would ask itself without end: its machine asks it again";
  CHECK(problems_of(with_machine(machine_of("default"))).contains(itself));
  CHECK(problems_of(with_machine(machine_of("{type: treaty}"))).contains(itself));
  CHECK(problems_of(with_machine(machine_of("writer", R"(machines:
    b: {spec: flatmachine, spec_version: "4.0", data: {agents: {x: default}, states: {s: {agent: x, type: final}}}})"),
                                 kWriter))
            .contains(itself));

  Given round = with_machine(machine_of("second"), "  second: {backends: [{machine: b.yml}]}\n");
  round.files["/work/b.yml"] = machine_of("default");
  CHECK(
      problems_of(round).contains("default would ask itself without end: its machine asks second"));
  CHECK(
      problems_of(round).contains("second would ask itself without end: its machine asks default"));
}

TEST_CASE("Addresses that webhooks may go to are addresses, networks or names of hosts") {
  const Given given{.yaml =
                        "machines: {allow_addresses: [127.0.0.1, hooks.internal, 10.0.0.0/33]}\n"};

  CHECK(
      problems_of(given) ==
      "treaty.yaml:1:57: expected an address, a network or the name of a host (such as 127.0.0.1, "
      "10.1.0.0/16, fd00::/8 or hooks.internal)\n");
}

}  // namespace
}  // namespace treaty::config
