// The sections of a machine's file. source.cpp reads the text; state_reading.cpp a state, and looks
// at the states together; calls.cpp what a state calls and how; load.cpp the rest.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

// The text as a tree: JSON or YAML, merge keys (`<<`) applied. What is wrong with the text itself
// is MCH-01.
std::expected<yaml::Node, Diagnostic> read_source(std::string_view text);

// `place` is a mapping.
State read_state(Reader& reader, const Place& place);

// MCH-17: keys that have no effect where they stand. MCH-18: keys that cannot stand together.
void check_state(Reader& reader, const Place& place, const State& state);

// agent, session_id, execution, tool_loop.
void read_agent_call(Reader& reader, const Place& place, State& state);

// input, machine, foreach, as, key, mode, launch, launch_input.
void read_children(Reader& reader, const Place& place, State& state);

// Sections 5 and 6.
std::optional<Execution> read_execution(Reader& reader, const Place& place);
std::optional<ToolLoop> read_tool_loop(Reader& reader, const Place& place);

// Where the machine begins, what can be reached, what never ends. `places` are those of
// machine.states, in the same order; there is at least one. Sets machine.initial.
void check_structure(Reader& reader, const Place& states, const std::vector<Place>& places,
                     Machine& machine);

// The texts of a machine that are programs: conditions (MCH-13) and templates (MCH-14).

using Bound = std::span<const std::string_view>;  // Names beyond the four: of foreach.

// Any value; every string in it is looked at where it stands.
std::optional<Template> read_template(Reader& reader, const Place& place, Bound bound = {});

// MCH-05 unless it is a mapping.
std::optional<Template> read_template_map(Reader& reader, const Place& place, std::string_view what,
                                          Bound bound = {});

// MCH-05 unless it is a text.
std::optional<Template> read_template_text(Reader& reader, const Place& place,
                                           std::string_view what, Bound bound = {});

// A mapping whose members are rendered one after the other.
std::vector<std::pair<std::string, Template>> read_template_members(Reader& reader,
                                                                    const Place& place,
                                                                    std::string_view what);

// A text, or a literal that YAML has read already: `condition: true`.
void read_condition(Reader& reader, const Place& place, Transition& transition);

// Whether a text is more than text: has `{{` or `{%`, or refers to a value (`context.a`).
bool is_dynamic(std::string_view text);

// References to hooks: a name, {name, args?}, or a list of them.

std::vector<HookReference> read_hooks(Reader& reader, const Place& place);

// The built-in policy redirects on its own.
struct PolicyState {
  std::string_view argument;  // For what: minute, hour, day, fatal.
  std::string state;
};

// The states that the policy knows, whether or not the machine has them. Nothing for other hooks.
std::vector<PolicyState> policy_states(const HookReference& hook);

}  // namespace treaty::machines
