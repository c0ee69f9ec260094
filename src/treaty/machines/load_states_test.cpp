// The rules of machines about states and what they refer to: MCH-08 to MCH-22.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "treaty/machines/load.h"

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

Places refused(std::string_view text, const LoadOptions& options = {}) {
  return places_of(load_machine(text, options).violations);
}
Places warned(std::string_view text) {
  const Loaded loaded = load_machine(text, {});
  CHECK(places_of(loaded.violations) == Places{});
  return places_of(loaded.warnings);
}

// The states begin on line 7.
std::string states(std::string_view states) {
  return fmt::format(R"(spec: flatmachine
spec_version: "4.2.1"
data:
  agents: {{w: ./w.yml, 7: ./seven.yml}}
  machines: {{c: ./c.yml, d: ./d.yml}}
  states:
{})",
                     states);
}

// One state, whose keys begin on line 8, and a final one.
std::string state(std::string_view keys) {
  return states(
      fmt::format("    a:\n{}      transitions: [{{to: end}}]\n    end: {{type: final}}\n", keys));
}

}  // namespace

TEST_CASE("MCH-08: a transition to an unknown state is refused at its to") {
  const Loaded loaded = load_machine(states(R"(    a:
      transitions:
        - condition: context.x
          to: dnoe
        - to: done
    done: {type: final}
)"),
                                     {});

  REQUIRE(loaded.violations.size() == 1);
  const Diagnostic& finding = loaded.violations[0];
  CHECK(finding.rule == "MCH-08");
  CHECK(finding.line == 10);
  CHECK(finding.column == 11);
  CHECK(finding.where == "/data/states/a/transitions/0/to");
  CHECK(finding.message.contains("dnoe"));
  CHECK(finding.hint == "did you mean 'done'?");
}

TEST_CASE("MCH-08: on_error and the arguments of the policy name states") {
  CHECK(refused(state("      on_error: gone\n")) == Places{"MCH-08:8"});
  CHECK(refused(state("      on_error:\n        default: end\n        timeout: gone\n")) ==
        Places{"MCH-08:10"});
  CHECK(refused(state("      agent: w\n      hooks: {name: rate-limit, args: {day: gone}}\n")) ==
        Places{"MCH-08:9"});
  CHECK(refused(state("      agent: w\n      hooks: {name: rate-limit, args: {fatal: end}}\n")) ==
        Places{});
}

TEST_CASE("MCH-09: a state is reached by transitions, on_error and the policy, not by hooks") {
  CHECK(warned(states(R"(    a: {transitions: [{to: b}], on_error: {timeout: c}}
    b: {type: final}
    c: {type: final}
    d: {action: x, transitions: [{to: e}]}
    e: {type: final}
)")) == Places{"MCH-09:10", "MCH-09:11"});
  CHECK(
      warned(states(
          R"(    a: {agent: w, hooks: [logging, {name: rate-limit, args: {minute: nap, fatal: f}}], transitions: [{to: b}]}
    b: {type: final}
    nap: {action: treaty.wait, transitions: [{to: a}]}
    long_wait: {action: treaty.wait, transitions: [{to: a}]}
    switch_provider: {agent: w, transitions: [{to: b}]}
    f: {type: final}
    short_wait: {action: treaty.wait, transitions: [{to: a}]}
)")) == Places{"MCH-09:13"});
}

TEST_CASE("MCH-10 and MCH-22: only final states have no transitions") {
  CHECK(warned(states("    a: {action: x}\n    end: {type: final}\n")) ==
        Places{"MCH-10:7", "MCH-09:8"});
  CHECK(warned(states(
            "    a:\n      on_error: end\n      transitions: []\n    end: {type: final}\n")) ==
        Places{"MCH-10:9"});
  CHECK(warned(states("    end:\n      type: final\n      transitions:\n        - to: end\n")) ==
        Places{"MCH-22:9"});
  CHECK(warned(states("    end:\n      type: final\n      transitions: []\n")) == Places{});
}

TEST_CASE("MCH-11: a machine without a final state is told at its states") {
  CHECK(warned(states("    a: {transitions: [{to: a}]}\n")) == Places{"MCH-11:6"});
}

TEST_CASE("MCH-12: everything after a transition without a condition is never taken") {
  CHECK(warned(states(R"(    a:
      transitions:
        - condition: context.x
          to: a
        - condition: ''
          to: end
        - to: end
        - condition: context.x
          to: a
    end: {type: final}
)")) == Places{"MCH-12:13", "MCH-12:14"});
}

TEST_CASE("MCH-13: a condition that cannot be parsed is refused at its key") {
  const auto with = [](std::string_view condition) {
    return states(
        fmt::format("    a:\n      transitions:\n        - to: end\n          condition: {}\n    "
                    "end: {{type: final}}\n",
                    condition));
  };

  for (const char* bad :
       {"'1 +'", "ctx.x", "'context.x = 1'", "'a()'", "'\"open'", "'{{ context.x }}'"}) {
    INFO(bad);
    CHECK(refused(with(bad)) == Places{"MCH-13:10"});
  }
  for (const char* good : {"'context.x in [1, 2]'", "''", "true", "false", "1", "0.5", "",
                           "\"result.error.code == 'rate_limit'\"",
                           ">-\n            context.x\n            and output.y"}) {
    INFO(good);
    CHECK(warned(with(good)) == Places{});
  }
}

TEST_CASE("MCH-14: a template is refused where it stands, however deep") {
  CHECK(refused(state("      agent: w\n      input:\n        a: ok\n        b:\n          - x\n    "
                      "      - c: '{{ 1 + }}'\n")) == Places{"MCH-14:13"});
  for (const char* bad : {"{{ context.x", "{% if x %}", "{{ nobody }}", "{{ context.x | nothing }}",
                          "{{ context.x() }}", "{% macro m() %}{% endmacro %}", "{{ item }}"}) {
    for (const char* key : {"session_id", "wait_for"}) {
      INFO(key << ": " << bad);
      CHECK(refused(state(fmt::format("      {}: \"{}\"\n", key, bad))) == Places{"MCH-14:8"});
    }
    for (const char* key : {"input", "output", "output_to_context", "launch_input"}) {
      INFO(key << ": " << bad);
      CHECK(refused(state(fmt::format("      {}: {{k: \"{}\"}}\n", key, bad))) ==
            Places{"MCH-14:8"});
    }
  }
}

TEST_CASE("MCH-14: the name of foreach is known in its input and its key, under its own name") {
  CHECK(warned(state("      foreach: context.items\n      machine: c\n      key: '{{ item.id }}'\n"
                     "      input: {v: '{{ item }}'}\n")) == Places{});
  CHECK(warned(state("      foreach: context.items\n      as: it\n      machine: [{name: c, input: "
                     "{v: '{{ it }}'}}]\n")) == Places{});
  CHECK(refused(state("      foreach: context.items\n      as: it\n      machine: c\n      input: "
                      "{v: '{{ item }}'}\n")) == Places{"MCH-14:11"});
  CHECK(refused(state("      foreach: context.items\n      machine: c\n      output_to_context: "
                      "{v: '{{ item }}'}\n")) == Places{"MCH-14:10"});
}

TEST_CASE("MCH-15 and MCH-16: agents and machines are those of the file") {
  CHECK(refused(state("      agent: ghost\n")) == Places{"MCH-15:8"});
  CHECK(refused(state("      machine: ghost\n")) == Places{"MCH-16:8"});
  CHECK(refused(state("      machine:\n        - c\n        - ghost\n        - name: ghosts\n")) ==
        Places{"MCH-16:10", "MCH-16:11"});
  CHECK(refused(state("      launch: ghost\n")) == Places{"MCH-16:8"});
  CHECK(refused(state("      launch:\n        - c\n        - ghost\n")) == Places{"MCH-16:10"});
}

TEST_CASE("names that YAML reads as numbers or booleans are names all the same") {
  const Loaded loaded = load_machine(states(R"(    1: {agent: 7, transitions: [{to: true}]}
    true: {on_error: 1.5, transitions: [{to: no}]}
    1.5: {type: final}
    no: {type: final}
)"),
                                     {});

  CHECK(places_of(loaded.violations) == Places{});
  REQUIRE(loaded.machine != nullptr);
  CHECK(loaded.machine->find("1")->agent == "7");
  CHECK(loaded.machine->find("1")->transitions[0].to == "true");
  CHECK(loaded.machine->find("true")->on_error[0].second == "1.5");
}

TEST_CASE("words of YAML 1.1 for true and false are read where a boolean stands") {
  const Loaded loaded = load_machine(
      state("      agent: w\n      tool_loop: on\n      execution: {retry_on_empty: Yes}\n"), {});

  REQUIRE(loaded.machine != nullptr);
  CHECK(loaded.machine->states[0].tool_loop.has_value());
  CHECK(loaded.machine->states[0].execution->retry_on_empty);
}

TEST_CASE("MCH-17: keys without an effect are told at the key") {
  const auto idle = [](std::string_view keys) {
    Places out = warned(state(keys));
    std::erase_if(out, [](const std::string& place) { return !place.starts_with("MCH-17"); });
    return out;
  };

  CHECK(idle("      execution: {type: retry}\n      tool_loop: true\n      sampling: multi\n") ==
        Places{"MCH-17:8", "MCH-17:9", "MCH-17:10"});
  CHECK(idle("      as: x\n      key: y\n") == Places{"MCH-17:8", "MCH-17:9"});
  CHECK(idle("      mode: any\n      launch_input: {}\n") == Places{"MCH-17:8", "MCH-17:9"});
  CHECK(idle("      output: {}\n") == Places{"MCH-17:8"});
  CHECK(idle("      wait_for: x\n      agent: w\n      machine: c\n      action: y\n      launch: "
             "d\n") == Places{"MCH-17:9", "MCH-17:10", "MCH-17:11", "MCH-17:12"});
  CHECK(
      idle("      agent: w\n      execution: {}\n      tool_loop: {}\n      sampling: single\n") ==
      Places{});
  CHECK(idle("      machine: c\n      foreach: context.x\n      as: x\n      key: x\n      mode: "
             "any\n") == Places{});
  CHECK(idle("      launch: [c, d]\n      launch_input: {}\n") == Places{});
}

TEST_CASE("MCH-18: foreach runs one machine, and a tool loop one conversation") {
  CHECK(refused(state("      foreach: context.x\n")) == Places{"MCH-18:8"});
  CHECK(refused(state("      machine: [c, d]\n      foreach: context.x\n")) == Places{"MCH-18:9"});
  CHECK(refused(state("      machine: [c]\n      foreach: [1, 2]\n")) == Places{});
  for (const char* type : {"parallel", "mdap_voting"}) {
    CHECK(refused(state(fmt::format(
              "      agent: w\n      execution: {{type: {}}}\n      tool_loop: {{}}\n", type))) ==
          Places{"MCH-18:10"});
  }
  CHECK(refused(state("      agent: w\n      execution: {type: retry}\n      tool_loop: true\n")) ==
        Places{});
  CHECK(refused(
            state("      agent: w\n      execution: {type: parallel}\n      tool_loop: false\n")) ==
        Places{});
}

TEST_CASE("MCH-19: hooks are built in or registered") {
  CHECK(refused(state("      hooks: [logging, metrics, webhook, command, rate-limit]\n")) ==
        Places{});
  CHECK(refused(state("      hooks: mine\n")) == Places{"MCH-19:8"});
  CHECK(refused(state("      hooks: mine\n"), {.hooks = {"mine"}}) == Places{});
  CHECK(refused(
            state("      hooks:\n        - logging\n        - args: {}\n          name: mine\n")) ==
        Places{"MCH-19:11"});
}

TEST_CASE("MCH-20: a machine stands in a list once") {
  CHECK(refused(state("      machine:\n        - c\n        - name: d\n        - input: {}\n       "
                      "   name: c\n")) == Places{"MCH-20:11"});
}

TEST_CASE("MCH-21: the engine cel is not there") {
  CHECK(refused("spec: flatmachine\nspec_version: '4.2.1'\ndata:\n  expression_engine: cel\n  "
                "states: {s: {type: final}}\n") == Places{"MCH-21:4"});
}

TEST_CASE("a key without a value is a key that is not there") {
  CHECK(warned(state("      agent:\n      input:\n      hooks:\n      on_error:\n      timeout:\n  "
                     "    output:\n")) == Places{});
}

TEST_CASE("limits of a tool loop are numbers, texts of numbers or templates; 0 is none") {
  const Loaded loaded = load_machine(
      state("      agent: w\n      tool_loop: {max_turns: 0, max_tool_calls: '5', max_cost: 0.5, "
            "tool_timeout: '{{ context.t }}', total_timeout: context.t, allowed_tools: [], "
            "denied_tools: context.denied}\n"),
      {});

  REQUIRE(loaded.machine != nullptr);
  const ToolLoop& loop = *loaded.machine->states[0].tool_loop;
  CHECK_FALSE(loop.max_turns.has_value());
  CHECK(loop.max_tool_calls.has_value());
  CHECK(loop.max_cost.has_value());
  CHECK(loop.tool_timeout.has_value());
  CHECK(loop.total_timeout.has_value());
  CHECK(loop.allowed_tools.has_value());
  CHECK(loop.denied_tools.has_value());
}

TEST_CASE("an inline machine is checked as a whole and reported at its name") {
  const std::string text = R"(spec: flatmachine
spec_version: "4.2.1"
data:
  machines:
    inner:
      spec: flatmachine
      data:
        machines:
          innermost:
            spec: flatmachine
            spec_version: "4.2.1"
            data: {states: {s: {type: final, agent: nobody}}}
        states:
          s: {type: final, machine: gone}
  states:
    a: {type: final, machine: inner, colour: red}
)";
  const Loaded loaded = load_machine(text, {});

  CHECK(places_of(loaded.violations) == Places{"MCH-15:5", "MCH-16:5", "MCH-04:16"});
  CHECK(places_of(loaded.warnings) == Places{"MCH-03:5"});
  CHECK(loaded.violations[0].where ==
        "/data/machines/inner/data/machines/innermost/data/states/s/agent");
  CHECK(loaded.violations[0].column == 5);
}

TEST_CASE("an inline machine is a machine of its own, whose text is JSON") {
  const Loaded loaded =
      load_machine(R"({spec: flatmachine, spec_version: "4.2.1", data: {machines: {
    c: {spec: flatmachine, spec_version: "4.0.0", data: {name: child, states: {s: {type: final}}}}},
    states: {a: {type: final, machine: c}}}})",
                   {.directory = "here"});

  REQUIRE(loaded.machine != nullptr);
  const auto& child = loaded.machine->machines.at("c").inlined;
  REQUIRE(child != nullptr);
  CHECK(child->name == "child");
  CHECK(child->directory == "here");
  CHECK(
      child->text ==
      R"({"spec":"flatmachine","spec_version":"4.0.0","data":{"name":"child","states":{"s":{"type":"final"}}}})");
  CHECK(child->config_hash.size() == 64);
  const Loaded again = load_machine(child->text, {});
  REQUIRE(again.machine != nullptr);
  CHECK(again.machine->config_hash == child->config_hash);
}

TEST_CASE("all problems are told at once, violations and warnings by line") {
  const Loaded loaded = load_machine(R"(spec: flatmachine
spec_version: "4.2.1"
data:
  colour: red
  states:
    a:
      agent: ghost
      transitions:
        - condition: "1 +"
          to: nowhere
    b: {type: final}
)",
                                     {});

  CHECK(loaded.machine == nullptr);
  CHECK(places_of(loaded.violations) == Places{"MCH-04:4", "MCH-15:7", "MCH-13:9", "MCH-08:10"});
  CHECK(places_of(loaded.warnings) == Places{"MCH-09:11"});
}

TEST_CASE("columns count characters") {
  const Loaded loaded = load_machine(
      "{spec: flatmachine, spec_version: '4.2.1', data: {name: 'é→😀', oops: 1, states: {s: {type: "
      "final}}}}",
      {});

  REQUIRE(loaded.violations.size() == 1);
  CHECK(loaded.violations[0].column == 64);
  CHECK(loaded.violations[0].offset == 69);
}

TEST_CASE("a thousand findings are listed, and how many more there are") {
  std::string many = states("    end: {type: final}\n    a:\n");
  for (int i = 0; i < 12'000; ++i) many += fmt::format("      key{}: 1\n", i);

  const Loaded loaded = load_machine(many, {});

  CHECK(loaded.violations.size() == kMostListed);
  CHECK(loaded.violations.front().line == 9);
  CHECK(loaded.violations.back().line == 1008);
  CHECK(loaded.more == 12'000 - 1000 + 2);
  CHECK(loaded.machine == nullptr);
}

}  // namespace treaty::machines
