// What holds for every text: reading ends with a machine or with what is wrong, inside the file.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "treaty/machines/graph/graph.h"
#include "treaty/machines/load.h"

namespace treaty::machines {
namespace {

constexpr std::string_view kGood = R"(spec: flatmachine
spec_version: "4.2.1"
data:
  name: m
  context: {x: "{{ input.x | trim }}", list: [1, 2]}
  agents: {w: ./w.yml, t: {type: pi-agent, ref: p}}
  machines:
    c:
      spec: flatmachine
      spec_version: "4.2.1"
      data: {states: {s: {type: final, output: {k: input.v}}}}
  settings: {max_steps: 20}
  persistence: {enabled: true, backend: local}
  lifecycle_hooks: logging
  states:
    start:
      agent: w
      execution: {type: retry, backoffs: [1, 2], jitter: 0.1}
      hooks: [{name: rate-limit, args: {fatal: failed}}]
      input: {q: "{% if context.x %}{{ context.x }}{% endif %}"}
      output_to_context: {r: output.content}
      on_error: {rate_limit: nap, default: failed}
      transitions:
        - condition: context.r == 'again' and not result.error
          to: start
        - to: each
    each: {foreach: context.list, as: n, machine: c, input: {v: "{{ n }}"}, transitions: [{to: wait}]}
    wait: {wait_for: "ok/{{ context.x }}", transitions: [{to: end}]}
    nap: {action: treaty.wait, transitions: [{to: start}]}
    end: {type: final, output: {r: context.r}}
    failed: {type: final}
)";

// Pieces that mean something to a reader of machines.
const std::vector<std::string> kPieces = {
    "\n",    " ",       "  ",        ":",        "-",          "{",    "}",    "[",
    "]",     "\"",      "'",         "#",        "&a",         "*a",   "<<: ", "{{",
    "}}",    "{%",      "%}",        "|",        ">",          "null", "true", "0",
    "-1",    "1e999",   "context.",  "to:",      "é",          "\xff", "\t",   "end",
    "start", "type:",   "agent:",    "machine:", "condition:", "?",    "!",    "%",
    "data:", "states:", "machines:", "final",    "\x01",       "😀"};

std::string mutated(std::string text) {
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto length = std::min(text.size() - at, *rc::gen::inRange<std::size_t>(0, 12));
    switch (*rc::gen::inRange(0, 3)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, *rc::gen::elementOf(kPieces)); break;
      default: {
        const std::string piece = text.substr(at, length);
        text.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), piece);
      }
    }
  }
  return text;
}

bool is_inside(const Diagnostic& finding, std::string_view text) {
  const auto lines = 1 + std::ranges::count(text, '\n');
  return !finding.message.empty() && finding.rule.starts_with("MCH-") && finding.line >= 1 &&
         finding.line <= lines && finding.column >= 1 && finding.offset <= text.size() &&
         (finding.where.empty() || finding.where.starts_with('/'));
}

}  // namespace

TEST_CASE("the machine that is mutated is a good one") {
  const Loaded loaded = load_machine(kGood, {});

  CHECK(loaded.violations.empty());
  CHECK(loaded.warnings.empty());
}

TEST_CASE("a mutated machine is read or refused, and every finding is inside of it") {
  CHECK(rc::check([] {
    const std::string text = mutated(std::string(kGood));

    const Loaded loaded = load_machine(text, {});

    RC_ASSERT((loaded.machine == nullptr) == !loaded.violations.empty());
    for (const Diagnostic& finding : loaded.violations) RC_ASSERT(is_inside(finding, text));
    for (const Diagnostic& finding : loaded.warnings) RC_ASSERT(is_inside(finding, text));
    RC_ASSERT(std::ranges::is_sorted(loaded.violations, {}, &Diagnostic::line));
    RC_ASSERT(std::ranges::is_sorted(loaded.warnings, {}, &Diagnostic::line));
    if (!loaded.machine) return;
    RC_ASSERT(loaded.machine->initial < loaded.machine->states.size());
    const Graph graph = graph_of(*loaded.machine);
    RC_ASSERT(svg_of(graph).ends_with("</svg>\n"));
    RC_ASSERT(mermaid_of(graph).starts_with("flowchart"));
  }));
}

}  // namespace treaty::machines
