#include "treaty/machines/rules.h"

#include <fmt/format.h>

namespace treaty::machines {
namespace {

// Of what stands in data.
std::string file(std::string_view data) {
  return fmt::format(R"({{spec: flatmachine, spec_version: "4.2.1", data: {{{}}}}})", data);
}

// Of the states, in which `end` is final.
std::string states(std::string_view states) {
  return file(fmt::format("states: {{{}, end: {{type: final}}}}", states));
}

// Of one state, with an agent `writer` and a machine `child` to call.
std::string state(std::string_view keys) {
  return file(
      fmt::format("agents: {{writer: ./writer.yml}}, machines: {{child: ./child.yml}}, "
                  "states: {{begin: {{{}, transitions: [{{to: end}}]}}, end: {{type: final}}}}",
                  keys));
}

}  // namespace

std::vector<MachineRuleExample> rule_examples() {
  const std::string good = file("states: {end: {type: final}}");
  return {
      {"MCH-01", good, "[flatmachine]"},
      {"MCH-02", good,
       R"({spec: flatagent, spec_version: "4.2.1", data: {states: {end: {type: final}}}})"},
      {"MCH-03", good,
       R"({spec: flatmachine, spec_version: "3.0.0", data: {states: {end: {type: final}}}})"},
      {"MCH-04", good, file("state: {}, states: {end: {type: final}}")},
      {"MCH-05", file("settings: {max_steps: 20}, states: {end: {type: final}}"),
       file("settings: {max_steps: many}, states: {end: {type: final}}")},
      {"MCH-06", good, file("states: {}")},
      {"MCH-07", states("a: {type: initial, transitions: [{to: end}]}"),
       states("a: {type: initial, transitions: [{to: end}]}, "
              "b: {type: initial, transitions: [{to: end}]}")},
      {"MCH-08", states("a: {transitions: [{to: end}]}"),
       states("a: {on_error: nowhere, transitions: [{to: end}]}")},
      {"MCH-09", states("a: {on_error: b, transitions: [{to: end}]}, b: {type: final}"),
       states("a: {transitions: [{to: end}]}, b: {type: final}")},
      {"MCH-10", states("a: {transitions: [{to: end}]}"),
       states("a: {on_error: end, action: look}")},
      {"MCH-11", states("a: {transitions: [{to: end}]}"),
       file("states: {a: {transitions: [{to: a}]}}")},
      {"MCH-12", states("a: {transitions: [{condition: context.x, to: a}, {to: end}]}"),
       states("a: {transitions: [{to: end}, {condition: context.x, to: a}]}")},
      {"MCH-13", states("a: {transitions: [{condition: context.score >= 8, to: end}]}"),
       states("a: {transitions: [{condition: score >= 8, to: end}]}")},
      {"MCH-14", state(R"(agent: writer, input: {topic: "{{ context.topic | trim }}"})"),
       state(R"(agent: writer, input: {topic: "{{ context.topic | tidy }}"})")},
      {"MCH-15", state("agent: writer"), state("agent: editor")},
      {"MCH-16", state("machine: child"), state("machine: parent")},
      {"MCH-17", state("agent: writer, tool_loop: true"), state("machine: child, tool_loop: true")},
      {"MCH-18", state("foreach: context.items, machine: child"),
       state("foreach: context.items, agent: writer")},
      {"MCH-19", state("agent: writer, hooks: rate-limit"),
       state("agent: writer, hooks: rate-limits")},
      {"MCH-20", state("machine: [child]"), state("machine: [child, child]")},
      {"MCH-21", file("expression_engine: simple, states: {end: {type: final}}"),
       file("expression_engine: cel, states: {end: {type: final}}")},
      {"MCH-22", file("states: {end: {type: final}}"),
       file("states: {end: {type: final, transitions: [{to: end}]}}")},
  };
}

}  // namespace treaty::machines
