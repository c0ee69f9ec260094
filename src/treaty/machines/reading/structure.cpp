#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "treaty/base/text.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

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
