// A machine as a value: what a flatmachine file says, with its conditions and templates parsed.
// Section numbers refer to docs/reference/machines.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/templates/template.h"

namespace treaty::machines {

using templates::Dynamic;
using templates::Expression;
using templates::List;
using templates::Object;
using templates::Template;

struct Machine;

struct HookReference {
  std::string name;
  Object arguments{};
};

struct Transition {
  std::optional<Expression> condition{};
  std::string text{};  // Of the condition, as it was written.
  std::string to;
  bool names_result = false;  // The condition names `result`: it may catch an error.
};

enum class ExecutionKind : std::uint8_t { once, retry, parallel, voting };

struct Execution {
  ExecutionKind kind = ExecutionKind::once;
  std::vector<double> backoffs{2, 8, 16, 35};  // Seconds.
  double jitter = 0.1;
  bool retry_on_empty = false;
  int samples = 3;
  int margin = 3;
  int most_candidates = 10;
  std::optional<std::int64_t> most_response_tokens{};
};

// Limits are numbers or templates of numbers; absent: none. (In the file 0 is none as well.)
struct ToolLoop {
  std::optional<Template> max_turns{};
  std::optional<Template> max_tool_calls{};
  std::optional<Template> tool_timeout{};
  std::optional<Template> total_timeout{};
  std::optional<Template> max_cost{};
  std::optional<Template> allowed_tools{};  // Absent: all.
  std::optional<Template> denied_tools{};
};

struct ChildReference {
  std::string name;
  std::optional<Template> input{};
};

enum class StateKind : std::uint8_t { plain, initial, final };
enum class Mode : std::uint8_t { settled, any };

struct State {
  std::string name;
  StateKind kind = StateKind::plain;
  std::optional<std::string> agent{};
  std::optional<Template> input{};
  std::optional<Template> session_id{};
  std::optional<Execution> execution{};
  std::optional<ToolLoop> tool_loop{};
  std::vector<ChildReference> machines{};
  bool machines_are_list = false;  // A list of one is a list.
  std::optional<Template> foreach{};
  std::string item_name = "item";
  std::optional<Template> key{};
  Mode mode = Mode::settled;
  std::vector<std::string> launch{};
  std::optional<Template> launch_input{};
  std::optional<std::string> action{};
  std::optional<Template> wait_for{};
  std::vector<HookReference> hooks{};
  std::vector<std::pair<std::string, Template>> output_to_context{};
  std::optional<Template> output{};
  std::vector<Transition> transitions{};
  std::vector<std::pair<std::string, std::string>> on_error{};  // Code, type or "default" → state.
  std::optional<double> timeout{};                              // Seconds.
  int line = 0;                                                 // In the file.
};

// What stands under a name of `data.agents`, as it was written: a path, an inline flatagent, or
// {type, ref?, config?}.
struct AgentReference {
  std::string name;
  Dynamic source{};
};

// What stands under a name of `data.machines`.
struct MachineReference {
  std::string path{};  // Relative to the file's directory; or
  std::shared_ptr<const Machine> inlined{};
};

struct MachineSettings {
  std::int64_t max_steps = 1000;
  std::int64_t max_depth = 16;
  std::int64_t max_parallel = 8;
  bool on_error_hook_for_all = false;
};

enum class PersistenceKind : std::uint8_t { configured, local, sqlite, memory };

struct Persistence {
  bool enabled = true;
  PersistenceKind kind = PersistenceKind::configured;
  std::string db_path{};
  std::optional<std::vector<std::string>> checkpoint_on{};  // Absent: all events.
};

struct Machine {
  std::string name = "machine";
  std::string spec_version{};
  std::vector<std::pair<std::string, Template>> context{};
  std::map<std::string, AgentReference, std::less<>> agents{};
  std::map<std::string, MachineReference, std::less<>> machines{};
  std::vector<State> states{};
  std::size_t initial = 0;  // In `states`.
  MachineSettings settings{};
  Persistence persistence{};
  std::vector<HookReference> lifecycle_hooks{};

  std::string text{};         // The file; of an inline machine, it as JSON.
  std::string directory{};    // Paths in it are relative to this one.
  std::string config_hash{};  // SHA-256 of the text.

  const State* find(std::string_view state) const {
    const auto found = std::ranges::find(states, state, &State::name);
    return found == states.end() ? nullptr : &*found;
  }
};

}  // namespace treaty::machines
