#include "treaty/machines/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "treaty/base/text.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

std::string agent_line(const State& state) {
  std::string out = "agent " + *state.agent;
  if (state.execution) {
    switch (state.execution->kind) {
      case ExecutionKind::once: break;
      case ExecutionKind::retry: out += " · retry"; break;
      case ExecutionKind::parallel:
        out += fmt::format(" · {} samples", state.execution->samples);
        break;
      case ExecutionKind::voting: out += " · voting"; break;
    }
  }
  if (state.tool_loop) out += " · tools";
  return out;
}

std::string machine_line(const State& state) {
  std::vector<std::string_view> names;
  names.reserve(state.machines.size());
  for (const ChildReference& child : state.machines) names.push_back(child.name);
  std::string out =
      fmt::format("{} {}", names.size() == 1 ? "machine" : "machines", fmt::join(names, ", "));
  if (state.foreach) out += " · for each " + state.item_name;
  if (state.mode == Mode::any) out += " · any";
  return out;
}

// A state that waits does nothing else.
void describe(const State& state, GraphNode& node) {
  if (state.wait_for) {
    node.doing = Doing::wait;
    node.lines.emplace_back("waits for a signal");
    return;
  }
  if (state.action) {
    node.doing = Doing::action;
    node.lines.push_back("action " + *state.action);
  }
  if (!state.launch.empty()) {
    node.doing = Doing::machine;
    node.lines.push_back(fmt::format("launch {}", fmt::join(state.launch, ", ")));
  }
  if (!state.machines.empty()) {
    node.doing = Doing::machine;
    node.lines.push_back(machine_line(state));
  }
  if (state.agent) {
    node.doing = Doing::agent;
    node.lines.push_back(agent_line(state));
  }
}

class Builder {
 public:
  explicit Builder(const Machine& machine) : machine_(machine) {
    graph_.name = machine.name;
    graph_.initial = machine.initial;
    for (const State& state : machine.states) {
      index_[state.name] = graph_.nodes.size();
      GraphNode node{.name = state.name, .is_final = state.kind == StateKind::final};
      describe(state, node);
      graph_.nodes.push_back(std::move(node));
    }
    if (!graph_.nodes.empty()) graph_.nodes[graph_.initial].is_initial = true;
  }

  void add_ways() {
    for (std::size_t from = 0; from < machine_.states.size(); ++from) {
      const State& state = machine_.states[from];
      add_transitions(from, state);
      for (const auto& [code, target] : state.on_error) {
        add(from, target, Way::error, code == "default" ? "error" : code);
      }
      for (const HookReference& hook : state.hooks) {
        for (const auto& [argument, target] : policy_states(hook)) {
          add(from, target, Way::policy, fmt::format("rate limit: {}", argument));
        }
      }
    }
  }

  void mark(const std::vector<std::string>& path) {
    const std::size_t* before = nullptr;
    for (std::size_t step = 0; step < path.size(); ++step) {
      const auto found = index_.find(path[step]);
      if (found == index_.end()) {
        before = nullptr;
        continue;
      }
      GraphNode& node = graph_.nodes[found->second];
      node.visits.push_back(step + 1);
      node.is_last = step + 1 == path.size();
      if (before != nullptr) mark_way(*before, found->second);
      before = &found->second;
    }
  }

  Graph take() { return std::move(graph_); }

 private:
  void add_transitions(std::size_t from, const State& state) {
    // A final state ends the machine.
    if (state.kind == StateKind::final) return;
    for (std::size_t i = 0; i < state.transitions.size(); ++i) {
      const Transition& transition = state.transitions[i];
      const bool is_rest = !transition.condition && i > 0;
      add(from, transition.to, Way::transition,
          transition.condition ? std::string(trimmed(transition.text))
          : is_rest            ? "otherwise"
                               : "");
    }
  }

  void add(std::size_t from, const std::string& target, Way way, std::string label) {
    const auto found = index_.find(target);
    if (found == index_.end()) return;
    const auto [place, is_new] =
        edges_.try_emplace({from, found->second, way}, graph_.edges.size());
    if (is_new) graph_.edges.push_back({.from = from, .to = found->second, .way = way});
    std::vector<std::string>& labels = graph_.edges[place->second].labels;
    if (!label.empty() && std::ranges::find(labels, label) == labels.end()) {
      labels.push_back(std::move(label));
    }
  }

  // Which of several ways was taken is not told by a path: the likeliest is marked.
  void mark_way(std::size_t from, std::size_t to) {
    for (const Way way : {Way::transition, Way::error, Way::policy, Way::redirect}) {
      const auto found = edges_.find({from, to, way});
      if (found == edges_.end()) continue;
      graph_.edges[found->second].is_visited = true;
      return;
    }
    edges_[{from, to, Way::redirect}] = graph_.edges.size();
    graph_.edges.push_back(
        {.from = from, .to = to, .way = Way::redirect, .labels = {"hook"}, .is_visited = true});
  }

  const Machine& machine_;
  Graph graph_{};
  std::map<std::string_view, std::size_t> index_{};
  std::map<std::tuple<std::size_t, std::size_t, Way>, std::size_t> edges_{};
};

}  // namespace

Graph graph_of(const Machine& machine, const std::vector<std::string>& path) {
  Builder builder(machine);
  builder.add_ways();
  builder.mark(path);
  return builder.take();
}

}  // namespace treaty::machines
