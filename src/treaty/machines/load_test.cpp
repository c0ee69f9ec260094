// What machine files may say, and where what is wrong is reported (machines.md section 1).
#include "treaty/machines/load.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "treaty/base/hash.h"
#include "treaty/machines/rules.h"

namespace treaty::machines {
namespace {

using Places = std::vector<std::string>;  // "MCH-08:12": rule and line.

Places places_of(const std::vector<Diagnostic>& findings) {
  Places out;
  for (const Diagnostic& finding : findings) {
    out.push_back(fmt::format("{}:{}", finding.rule, finding.line));
  }
  return out;
}

Places refused(std::string_view text) { return places_of(load_machine(text, {}).violations); }
Places warned(std::string_view text) {
  const Loaded loaded = load_machine(text, {});
  CHECK(places_of(loaded.violations) == Places{});
  return places_of(loaded.warnings);
}

// The keys of `data` begin on line 4.
std::string machine(std::string_view data) {
  return fmt::format("spec: flatmachine\nspec_version: \"4.2.1\"\ndata:\n{}", data);
}

// The keys of the state `a` begin on line 10.
std::string state(std::string_view keys) {
  return machine(fmt::format(R"(  agents: {{w: ./w.yml}}
  machines: {{c: ./c.yml, d: ./d.yml}}
  states:
    end:
      type: final
    a:
{}      type: initial
      transitions: [{{to: end}}]
)",
                             keys));
}

const Diagnostic& only(const std::vector<Diagnostic>& findings) {
  REQUIRE(findings.size() == 1);
  return findings.front();
}

}  // namespace

TEST_CASE("every rule of machines has an example that keeps it and one that breaks it") {
  const std::vector<MachineRuleExample> examples = rule_examples();
  REQUIRE(examples.size() == std::size(kRules));
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const MachineRuleExample& example = examples[i];
    INFO(example.rule);
    CHECK(example.rule == kRules[i].id);

    const Loaded good = load_machine(example.passes, {});
    CHECK(good.machine != nullptr);
    CHECK(places_of(good.violations) == Places{});
    CHECK(places_of(good.warnings) == Places{});

    const Loaded bad = load_machine(example.fails, {});
    const bool refuses = kRules[i].effect == contracts::Effect::refuses;
    CHECK((bad.machine == nullptr) == refuses);
    CHECK(only(refuses ? bad.violations : bad.warnings).rule == example.rule);
  }
}

TEST_CASE("a whole machine is read as it was written") {
  const std::string text = machine(R"(  name: m
  context: {x: "{{ input.x }}", fixed: 3}
  agents:
    w: ./w.yml
    typed: {type: pi-agent, ref: ./p.mjs, config: {a: 1}}
    inline: {spec: flatagent, spec_version: "4.2.1", data: {name: z}}
  machines: {c: ./c.yml}
  settings: {max_steps: 7, max_depth: 0, max_parallel: 2, on_error_hook: all, mine: [1]}
  persistence: {enabled: false, backend: sqlite, db_path: a.db, checkpoint_on: [execute]}
  lifecycle_hooks: [logging, {name: webhook, args: {endpoint: "http://127.0.0.1/"}}]
  states:
    work:
      agent: w
      session_id: "{{ context.x }}"
      input: {q: context.x}
      execution: {type: mdap_voting, k_margin: 2, max_candidates: 5, max_response_tokens: 100}
      timeout: 1.5
      on_error: {rate_limit: end, default: work}
      transitions:
        - condition: result.error.code == 'timeout'
          to: work
        - to: end
    end: {type: final, output: {x: context.x}}
)");

  const Loaded loaded = load_machine(text, {.directory = "/there"});

  REQUIRE(loaded.machine != nullptr);
  const Machine& read = *loaded.machine;
  CHECK(read.name == "m");
  CHECK(read.spec_version == "4.2.1");
  CHECK(read.text == text);
  CHECK(read.directory == "/there");
  CHECK(read.config_hash == sha256_hex(text));
  CHECK(read.context.size() == 2);
  CHECK(read.agents.at("typed").source.as_object().at("type") == "pi-agent");
  CHECK(read.machines.at("c").path == "./c.yml");
  CHECK(read.settings.max_steps == 7);
  CHECK(read.settings.on_error_hook_for_all);
  CHECK_FALSE(read.persistence.enabled);
  CHECK(read.persistence.kind == PersistenceKind::sqlite);
  CHECK(read.persistence.checkpoint_on == std::vector<std::string>{"execute"});
  REQUIRE(read.lifecycle_hooks.size() == 2);
  CHECK(read.lifecycle_hooks[1].arguments.contains("endpoint"));
  const State& work = *read.find("work");
  CHECK(work.agent == "w");
  CHECK(work.line == 15);
  REQUIRE(work.execution.has_value());
  CHECK(work.execution->kind == ExecutionKind::voting);
  CHECK(work.execution->margin == 2);
  CHECK(work.timeout == 1.5);
  CHECK(work.on_error[0] == std::pair<std::string, std::string>("rate_limit", "end"));
  CHECK(work.transitions[0].names_result);
  CHECK(work.transitions[0].text == "result.error.code == 'timeout'");
  CHECK_FALSE(work.transitions[1].condition.has_value());
  CHECK(read.find("nobody") == nullptr);
}

TEST_CASE("the initial state is the one typed so, else start, else the first") {
  const auto initial = [](std::string_view states) {
    const Loaded loaded = load_machine(machine(fmt::format("  states: {{{}}}\n", states)), {});
    REQUIRE(loaded.machine != nullptr);
    return loaded.machine->states[loaded.machine->initial].name;
  };

  CHECK(initial("a: {type: final}, start: {type: final}, b: {type: initial}") == "b");
  CHECK(initial("a: {type: final}, start: {type: final}") == "start");
  CHECK(initial("b: {type: final}, a: {type: final}") == "b");
}

TEST_CASE("MCH-01: what is no mapping without duplicates is refused where it goes wrong") {
  CHECK(refused("") == Places{"MCH-01:1"});
  CHECK(refused("# nothing\n") == Places{"MCH-01:1"});
  CHECK(refused("- a\n- b\n") == Places{"MCH-01:1"});
  CHECK(refused("spec: flatmachine\ndata:\n\tstates: {}\n") == Places{"MCH-01:3"});
  CHECK(refused("spec: flatmachine\ndata: [\n") == Places{"MCH-01:3"});
  CHECK(refused(machine("  states:\n    s: {type: final}\n    s: {type: final}\n")) ==
        Places{"MCH-01:6"});
  CHECK(refused("{\"spec\": \"flatmachine\",\n \"data\": {},\n \"spec\": 1}") ==
        Places{"MCH-01:3"});
}

TEST_CASE("MCH-02: the spec is flatmachine, and the message says what it is") {
  const Loaded loaded = load_machine("spec: flatagent\nspec_version: \"4.2.1\"\ndata: {}\n", {});

  CHECK(loaded.violations[0].message == "Invalid spec: expected 'flatmachine', got 'flatagent'");
  CHECK(loaded.violations[0].where == "/spec");
  CHECK(refused("# a comment\n\nspec_version: \"4.0.0\"\ndata: {states: {s: {type: final}}}\n") ==
        Places{"MCH-02:1"});
}

TEST_CASE("MCH-03: versions of 4 are read, others not, and a missing one is a warning") {
  const auto with = [](std::string_view version) {
    return fmt::format(
        "spec: flatmachine\nspec_version: {}\ndata: {{states: {{s: {{type: final}}}}}}\n", version);
  };

  for (const char* good : {"\"4.2.1\"", "4.0.0", "4.1", "4"}) CHECK(warned(with(good)) == Places{});
  for (const char* bad : {"\"3.9.0\"", "5.0", "\"40.1\"", "[4]", "latest"}) {
    CHECK(refused(with(bad)) == Places{"MCH-03:2"});
  }
  CHECK(warned(with("")) == Places{"MCH-03:2"});
  CHECK(warned("spec: flatmachine\ndata: {states: {s: {type: final}}}\n") == Places{"MCH-03:1"});
}

TEST_CASE("MCH-04: an unknown key is refused wherever it stands, with the one that was meant") {
  const Loaded loaded = load_machine(machine("  setings: {}\n  states: {s: {type: final}}\n"), {});
  CHECK(only(loaded.violations).where == "/data/setings");
  CHECK(only(loaded.violations).hint == "did you mean 'settings'?");

  CHECK(refused("spec: flatmachine\nspec_version: 4.2.1\nname: x\ndata: {states: {s: {type: "
                "final}}}\n") == Places{"MCH-04:3"});
  CHECK(refused(state("      agnet: w\n")) == Places{"MCH-04:10"});
  CHECK(refused(state("      agent: w\n      execution: {type: retry, tries: 3}\n")) ==
        Places{"MCH-04:11"});
  CHECK(refused(state("      agent: w\n      tool_loop: {turns: 3}\n")) == Places{"MCH-04:11"});
  CHECK(refused(state("      machine: [{name: c, with: {}}]\n")) == Places{"MCH-04:10"});
  CHECK(refused(state("      hooks: {name: logging, arguments: {}}\n")) == Places{"MCH-04:10"});
  CHECK(refused(machine("  agents: {x: {type: t, path: y}}\n  states: {s: {type: final}}\n")) ==
        Places{"MCH-04:4"});
}

TEST_CASE("MCH-04: hooks of the machine have moved, and the hint says where to") {
  const Loaded loaded =
      load_machine(machine("  hooks: logging\n  states: {s: {type: final}}\n"), {});

  CHECK(only(loaded.violations).rule == "MCH-04");
  CHECK(only(loaded.violations).hint.contains("lifecycle_hooks"));
}

TEST_CASE("MCH-04: persistence warns of unknown keys, settings and metadata have any") {
  CHECK(warned(machine(
            "  persistence: {backend: local, bucket: b}\n  states: {s: {type: final}}\n")) ==
        Places{"MCH-04:4"});
  CHECK(warned(machine("  settings: {parallel_fallback: sequential}\n  states: {s: {type: final}}\n"
                       "metadata: [whatever]\n")) == Places{});
}

TEST_CASE("MCH-05: no data, or data that is no mapping") {
  CHECK(refused("spec: flatmachine\nspec_version: 4.2.1\n") == Places{"MCH-05:1"});
  CHECK(refused("spec: flatmachine\nspec_version: 4.2.1\ndata:\n") == Places{"MCH-05:3"});
  CHECK(refused("spec: flatmachine\nspec_version: 4.2.1\ndata: [1]\n") == Places{"MCH-05:3"});
}

TEST_CASE("MCH-05: values of data have their types") {
  for (const char* line : {"name: 5",
                           "name: [a]",
                           "context: [a]",
                           "context: text",
                           "agents: [a]",
                           "agents: {x: 5}",
                           "agents: {x: }",
                           "agents: {x: {ref: y}}",
                           "agents: {x: {spec: other}}",
                           "agents: {x: {type: t, config: 5}}",
                           "agents: {x: {spec: flatagent}}",
                           "agents: {x: ' '}",
                           "machines: c.yml",
                           "machines: {c: 5}",
                           "machines: {c: }",
                           "settings: 5",
                           "settings: {max_steps: 0}",
                           "settings: {max_steps: 1.5}",
                           "settings: {max_steps: '10'}",
                           "settings: {max_depth: -1}",
                           "settings: {max_parallel: 0}",
                           "settings: {on_error_hook: none}",
                           "persistence: true",
                           "persistence: {enabled: sure}",
                           "persistence: {backend: redis}",
                           "persistence: {db_path: 5}",
                           "persistence: {checkpoint_on: execute}",
                           "persistence: {checkpoint_on: [begin]}",
                           "lifecycle_hooks: 5",
                           "lifecycle_hooks: {args: {}}",
                           "lifecycle_hooks: {name: logging, args: 5}",
                           "lifecycle_hooks: [[logging]]",
                           "expression_engine: complex"}) {
    INFO(line);
    CHECK(refused(machine(fmt::format("  {}\n  states: {{s: {{type: final}}}}\n", line))) ==
          Places{"MCH-05:4"});
  }
}

TEST_CASE("MCH-05: values of a state have their types and ranges") {
  for (const char* line : {"agent: [w]",
                           "agent: 5",
                           "input: text",
                           "session_id: {a: 1}",
                           "execution: retry",
                           "execution: {type: often}",
                           "execution: {backoffs: 3}",
                           "execution: {backoffs: [-1]}",
                           "execution: {jitter: 1.5}",
                           "execution: {jitter: '0.1'}",
                           "execution: {retry_on_empty: 1}",
                           "execution: {n_samples: 0}",
                           "execution: {k_margin: 0}",
                           "execution: {max_candidates: 0}",
                           "execution: {max_candidates: 10000000000}",
                           "execution: {max_response_tokens: 0}",
                           "tool_loop: 5",
                           "tool_loop: {max_turns: -1}",
                           "tool_loop: {max_turns: 1.5}",
                           "tool_loop: {max_cost: lots}",
                           "tool_loop: {allowed_tools: 5}",
                           "tool_loop: {denied_tools: [5]}",
                           "sampling: some",
                           "machine: 5",
                           "machine: {name: c}",
                           "machine: [{input: {}}]",
                           "machine: [[c]]",
                           "foreach: 5",
                           "as: 5",
                           "as: two words",
                           "key: 5",
                           "mode: all",
                           "launch: 5",
                           "launch: {name: c}",
                           "launch_input: text",
                           "action: 5",
                           "action: [a]",
                           "wait_for: 5",
                           "output_to_context: text",
                           "output: text",
                           "on_error: [end]",
                           "timeout: 0",
                           "timeout: -1",
                           "timeout: 10s",
                           "timeout: '{{ 5 }}'"}) {
    INFO(line);
    CHECK(refused(state(fmt::format("      {}\n", line)))[0] == "MCH-05:10");
  }
  CHECK(refused(machine("  states: [a]\n")) == Places{"MCH-05:4"});
  CHECK(refused(machine("  states:\n    s: 5\n    e: {type: final}\n")) == Places{"MCH-05:5"});
  CHECK(refused(machine("  states:\n    s: {type: last}\n    e: {type: final}\n")) ==
        Places{"MCH-05:5"});
}

TEST_CASE("MCH-05: transitions are a list of mappings that say where to") {
  const auto with = [](std::string_view transitions) {
    return machine(fmt::format(
        "  states:\n    a:\n      transitions: {}\n    end: {{type: final}}\n", transitions));
  };

  CHECK(refused(with("end")) == Places{"MCH-05:6"});
  CHECK(refused(with("\n        - end")) == Places{"MCH-05:7"});
  CHECK(refused(with("\n        - condition: context.x")) == Places{"MCH-05:7"});
  CHECK(refused(with("\n        - to: end\n          condition: [a]")) == Places{"MCH-05:8"});
  CHECK(refused(with("\n        - to: [end]")) == Places{"MCH-05:7"});
}

TEST_CASE("MCH-06: a machine without states is refused at the key that is there") {
  CHECK(refused(machine("  name: m\n")) == Places{"MCH-06:3"});
  CHECK(refused(machine("  name: m\n  states: {}\n")) == Places{"MCH-06:5"});
  CHECK(refused(machine("  name: m\n  states:\n")) == Places{"MCH-06:5"});
}

TEST_CASE("MCH-07: every initial state after the first is refused at its name") {
  CHECK(refused(machine(R"(  states:
    a: {type: initial, transitions: [{to: b}, {to: c}]}
    b: {type: initial, transitions: [{to: c}]}
    c:
      type: initial
      transitions: [{to: d}]
    d: {type: final}
)")) == Places{"MCH-07:6", "MCH-07:7"});
}

}  // namespace treaty::machines
