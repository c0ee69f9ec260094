#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "treaty/base/text.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

using yaml::Kind;

constexpr std::array<std::string_view, 22> kStateKeys = {
    "type",     "agent",        "input",    "session_id", "execution", "tool_loop",
    "sampling", "machine",      "foreach",  "as",         "key",       "mode",
    "launch",   "launch_input", "action",   "wait_for",   "hooks",     "output_to_context",
    "output",   "transitions",  "on_error", "timeout"};
constexpr std::array<std::string_view, 2> kTransitionKeys = {"condition", "to"};
constexpr std::array<std::string_view, 2> kStateTypes = {"initial", "final"};
constexpr std::array<std::string_view, 2> kSamplings = {"single", "multi"};

Transition read_transition(Reader& reader, const Place& place) {
  Transition out;
  reader.refuse_unknown_keys(place, "a transition", kTransitionKeys);
  if (const auto condition = place.find("condition")) read_condition(reader, *condition, out);
  if (const auto to = place.find("to")) {
    out.to = reader.name(*to, "a transition", reader.states, "MCH-08").value_or("");
  } else {
    reader.findings.violate("MCH-05", place.nearest("to"), "a transition without `to`",
                            "write `to:` and the name of a state");
  }
  return out;
}

std::vector<Transition> read_transitions(Reader& reader, const Place& place) {
  std::vector<Transition> out;
  if (!reader.is_list(place, "transitions")) return out;
  for (std::size_t i = 0; i < place.value().items.size(); ++i) {
    const Place entry = place.entry(i);
    if (reader.is_map(entry, "a transition")) out.push_back(read_transition(reader, entry));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> read_on_error(Reader& reader, const Place& place) {
  std::vector<std::pair<std::string, std::string>> out;
  if (place.kind() == Kind::list) {
    reader.wrong(place, "on_error", "a state, or a mapping from codes to states");
    return out;
  }
  if (place.kind() != Kind::map) {
    const auto state = reader.name(place, "on_error", reader.states, "MCH-08");
    if (state) out.emplace_back("default", *state);
    return out;
  }
  for (const auto& member : place.value().members) {
    const auto state = reader.name(place.member(member), "on_error", reader.states, "MCH-08");
    if (state) out.emplace_back(member.first.text, *state);
  }
  return out;
}

void read_kind(Reader& reader, const Place& place, State& state) {
  const auto type = place.find("type");
  if (!type) return;
  const auto kind = reader.word(*type, "the type of a state", kStateTypes);
  if (kind) state.kind = *kind == 0 ? StateKind::initial : StateKind::final;
}

void read_outcome(Reader& reader, const Place& place, State& state) {
  if (const auto mapping = place.find("output_to_context")) {
    state.output_to_context = read_template_members(reader, *mapping, "output_to_context");
  }
  if (const auto output = place.find("output")) {
    state.output = read_template_map(reader, *output, "output");
  }
  if (const auto transitions = place.find("transitions")) {
    state.transitions = read_transitions(reader, *transitions);
  }
  if (const auto on_error = place.find("on_error")) {
    state.on_error = read_on_error(reader, *on_error);
  }
  if (const auto timeout = place.find("timeout")) {
    const auto seconds =
        reader.number(*timeout, "timeout", 0, std::numeric_limits<double>::infinity());
    if (seconds && *seconds <= 0) {
      reader.wrong(*timeout, "timeout", "a number of seconds, more than 0");
    } else {
      state.timeout = seconds;
    }
  }
}

struct RequiredKey {
  std::string_view key;      // Has no effect
  std::string_view without;  // unless this one is there.
};

constexpr std::array<RequiredKey, 7> kRequiredKeys = {{{"execution", "agent"},
                                                       {"tool_loop", "agent"},
                                                       {"sampling", "agent"},
                                                       {"as", "foreach"},
                                                       {"key", "foreach"},
                                                       {"mode", "machine"},
                                                       {"launch_input", "launch"}}};
constexpr std::array<std::string_view, 4> kIdleBesideWaiting = {"agent", "machine", "action",
                                                                "launch"};

void warn_idle_keys(Reader& reader, const Place& place, const State& state) {
  for (const auto& [key, required] : kRequiredKeys) {
    const auto found = place.find(key);
    if (!found || place.find(required)) continue;
    reader.findings.warn("MCH-17", *found,
                         fmt::format("{} has no effect without {}", key, required));
  }
  const auto output = place.find("output");
  if (output && state.kind != StateKind::final) {
    reader.findings.warn("MCH-17", *output, "output has no effect: the state is not final",
                         "output_to_context keeps what a state found out");
  }
  if (!place.find("wait_for")) return;
  for (const std::string_view key : kIdleBesideWaiting) {
    if (const auto found = place.find(key)) {
      reader.findings.warn("MCH-17", *found, fmt::format("{} has no effect beside wait_for", key),
                           "put it into the next state");
    }
  }
}

// How many machines the key names, whether or not they are there.
std::size_t count_machines(const Place& place) {
  const auto machine = place.find("machine");
  if (!machine) return 0;
  return machine->kind() == yaml::Kind::list ? machine->value().items.size() : 1;
}

// MCH-07. The first that is typed so, else `start`, else the first.
std::size_t find_initial(Reader& reader, const std::vector<Place>& places,
                         const std::vector<State>& states) {
  std::optional<std::size_t> initial;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].kind != StateKind::initial) continue;
    if (initial) {
      reader.findings.violate("MCH-07", places[i], "Multiple initial states defined",
                              fmt::format("{} is one already", quote(states[*initial].name)));
    } else {
      initial = i;
    }
  }
  if (initial) return *initial;
  const auto start = std::ranges::find(states, "start", &State::name);
  return start == states.end() ? 0 : static_cast<std::size_t>(start - states.begin());
}

// Where a state can lead to by what the file says; names of states that are not there included.
std::vector<std::string> targets_of(const State& state) {
  std::vector<std::string> out;
  out.reserve(state.transitions.size());
  for (const Transition& transition : state.transitions) out.push_back(transition.to);
  for (const auto& [_, target] : state.on_error) out.push_back(target);
  for (const HookReference& hook : state.hooks) {
    for (PolicyState& policy : policy_states(hook)) out.push_back(std::move(policy.state));
  }
  return out;
}

std::vector<bool> reachable(const Machine& machine) {
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < machine.states.size(); ++i) index[machine.states[i].name] = i;
  std::vector<bool> reached(machine.states.size());
  std::vector<std::size_t> open = {machine.initial};
  reached[machine.initial] = true;
  while (!open.empty()) {
    const State& state = machine.states[open.back()];
    open.pop_back();
    for (const std::string& target : targets_of(state)) {
      const auto found = index.find(target);
      if (found == index.end() || reached[found->second]) continue;
      reached[found->second] = true;
      open.push_back(found->second);
    }
  }
  return reached;
}

bool is_unconditional(const Place& transition) {
  const auto condition = transition.find("condition");
  return !condition || (condition->value().is_scalar() && is_blank(condition->value().text));
}

// MCH-12.
void check_order(Reader& reader, const Place& transitions) {
  bool is_over = false;
  for (std::size_t i = 0; i < transitions.value().items.size(); ++i) {
    const Place entry = transitions.entry(i);
    if (entry.kind() != yaml::Kind::map) continue;
    if (is_over) {
      reader.findings.warn(
          "MCH-12", entry, "never taken: the transition before has no condition",
          "the first one that holds is taken; put the one without a condition last");
    }
    is_over = is_over || is_unconditional(entry);
  }
}

// MCH-10, MCH-12, MCH-22.
void check_ways_out(Reader& reader, const Place& place, const State& state) {
  const auto transitions = place.find("transitions");
  const bool is_empty = !transitions || (transitions->kind() == yaml::Kind::list &&
                                         transitions->value().items.empty());
  if (state.kind == StateKind::final && !is_empty) {
    reader.findings.warn("MCH-22", *transitions,
                         "a final state ends the machine: its transitions are never taken");
  }
  if (state.kind != StateKind::final && is_empty) {
    reader.findings.warn(
        "MCH-10", place.nearest("transitions"),
        fmt::format("the state {} is not final and leads nowhere", quote(state.name)),
        "give it transitions, or `type: final`");
  }
  if (transitions && transitions->kind() == yaml::Kind::list) check_order(reader, *transitions);
}

}  // namespace

State read_state(Reader& reader, const Place& place) {
  reader.refuse_unknown_keys(place, "a state", kStateKeys);
  State state{.name = std::string(place.name()), .line = place.line()};
  read_kind(reader, place, state);
  if (const auto action = place.find("action")) state.action = reader.text(*action, "action");
  if (const auto channel = place.find("wait_for")) {
    state.wait_for = read_template_text(reader, *channel, "wait_for");
  }
  if (const auto sampling = place.find("sampling")) reader.word(*sampling, "sampling", kSamplings);
  if (const auto hooks = place.find("hooks")) state.hooks = read_hooks(reader, *hooks);
  read_agent_call(reader, place, state);
  read_children(reader, place, state);
  read_outcome(reader, place, state);
  return state;
}

void check_state(Reader& reader, const Place& place, const State& state) {
  warn_idle_keys(reader, place, state);
  const auto list = place.find("foreach");
  if (list && count_machines(place) != 1) {
    reader.findings.violate("MCH-18", *list, "foreach needs one machine to run for every item",
                            "write `machine:` and its name beside it");
  }
  const auto loop = place.find("tool_loop");
  const bool is_many = state.execution && (state.execution->kind == ExecutionKind::parallel ||
                                           state.execution->kind == ExecutionKind::voting);
  if (loop && state.tool_loop && is_many) {
    reader.findings.violate("MCH-18", *loop,
                            "tool_loop cannot stand beside an execution of many samples",
                            "give each of them a machine with the loop in it");
  }
}

void check_structure(Reader& reader, const Place& states, const std::vector<Place>& places,
                     Machine& machine) {
  machine.initial = find_initial(reader, places, machine.states);
  const std::vector<bool> reached = reachable(machine);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!reached[i]) {
      reader.findings.warn(
          "MCH-09", places[i],
          fmt::format("no transition leads to the state {}", quote(machine.states[i].name)),
          "nor on_error, nor the rate-limit policy; a hook may still redirect to it");
    }
    check_ways_out(reader, places[i], machine.states[i]);
  }
  const auto is_final = [](const State& state) { return state.kind == StateKind::final; };
  if (std::ranges::none_of(machine.states, is_final)) {
    reader.findings.warn("MCH-11", states, "no state is final: the machine ends only by an error",
                         "give the last state `type: final`");
  }
}

}  // namespace treaty::machines
