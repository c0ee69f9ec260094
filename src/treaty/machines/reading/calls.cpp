#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/base/text.h"
#include "treaty/machines/reading/sections.h"
#include "treaty/machines/reading/texts.h"

namespace treaty::machines {
namespace {

using yaml::Kind;

constexpr std::array<std::string_view, 2> kModes = {"settled", "any"};
constexpr std::array<std::string_view, 2> kChildKeys = {"name", "input"};

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_word_character);
}

// The name that `foreach` binds, as far as it does.
std::vector<std::string_view> bound_names(const Place& place, const State& state) {
  if (!place.find("foreach")) return {};
  return {state.item_name};
}

std::optional<ChildReference> read_child(Reader& reader, const Place& place, Bound bound) {
  if (place.kind() != Kind::map) {
    auto name = reader.name(place, "machine", reader.machines, "MCH-16");
    if (!name) return std::nullopt;
    return ChildReference{.name = std::move(*name)};
  }
  reader.refuse_unknown_keys(place, "an entry of machine", kChildKeys);
  ChildReference out;
  if (const auto input = place.find("input")) {
    out.input = read_template_map(reader, *input, "input", bound);
  }
  const auto name = place.find("name");
  if (!name) {
    reader.findings.violate("MCH-05", place, "an entry of machine without a name",
                            "write {name: …, input: {…}}");
    return std::nullopt;
  }
  const auto known = reader.name(*name, "machine", reader.machines, "MCH-16");
  if (!known) return std::nullopt;
  out.name = *known;
  return out;
}

// MCH-20: the outputs of a list are told apart by name.
void read_machine_list(Reader& reader, const Place& place, State& state, Bound bound) {
  Names seen;
  for (std::size_t i = 0; i < place.value().items.size(); ++i) {
    const Place entry = place.entry(i);
    auto child = read_child(reader, entry, bound);
    if (!child) continue;
    if (!seen.insert(child->name).second) {
      reader.findings.violate(
          "MCH-20", entry, fmt::format("the machine {} is in the list already", quote(child->name)),
          "their outputs are told apart by name; foreach runs one many times");
    }
    state.machines.push_back(std::move(*child));
  }
}

void read_machines(Reader& reader, const Place& place, State& state, Bound bound) {
  state.machines_are_list = place.kind() == Kind::list;
  if (state.machines_are_list) return read_machine_list(reader, place, state, bound);
  if (place.kind() == Kind::map) {
    return reader.wrong(place, "machine", "a name or a list of names or of {name, input}");
  }
  auto name = reader.name(place, "machine", reader.machines, "MCH-16");
  if (name) state.machines.push_back({.name = std::move(*name)});
}

std::vector<std::string> read_launch(Reader& reader, const Place& place) {
  std::vector<std::string> out;
  const auto take = [&](const Place& one) {
    if (auto name = reader.name(one, "launch", reader.machines, "MCH-16")) {
      out.push_back(std::move(*name));
    }
  };
  if (place.kind() != Kind::list) {
    take(place);
    return out;
  }
  for (std::size_t i = 0; i < place.value().items.size(); ++i) take(place.entry(i));
  return out;
}

void read_foreach(Reader& reader, const Place& place, State& state) {
  if (const auto as = place.find("as")) {
    const auto name = reader.text(*as, "as");
    if (name && is_identifier(*name)) {
      state.item_name = *name;
    } else if (name) {
      reader.wrong(*as, "as", "a name of letters, digits and _");
    }
  }
  if (const auto list = place.find("foreach")) {
    if (list->kind() == Kind::list) {
      state.foreach = read_template(reader, *list);
    } else {
      state.foreach = read_template_text(reader, *list, "foreach");
    }
  }
  if (const auto key = place.find("key")) {
    state.key = read_template_text(reader, *key, "key", bound_names(place, state));
  }
}

}  // namespace

void read_agent_call(Reader& reader, const Place& place, State& state) {
  if (const auto agent = place.find("agent")) {
    state.agent = reader.name(*agent, "agent", reader.agents, "MCH-15");
  }
  if (const auto session = place.find("session_id")) {
    state.session_id = read_template_text(reader, *session, "session_id");
  }
  if (const auto execution = place.find("execution")) {
    state.execution = read_execution(reader, *execution);
  }
  if (const auto loop = place.find("tool_loop")) state.tool_loop = read_tool_loop(reader, *loop);
}

void read_children(Reader& reader, const Place& place, State& state) {
  read_foreach(reader, place, state);
  const std::vector<std::string_view> bound = bound_names(place, state);
  if (const auto input = place.find("input")) {
    state.input = read_template_map(reader, *input, "input", bound);
  }
  if (const auto machine = place.find("machine")) read_machines(reader, *machine, state, bound);
  if (const auto mode = place.find("mode")) {
    const auto chosen = reader.word(*mode, "mode", kModes);
    if (chosen) state.mode = *chosen == 0 ? Mode::settled : Mode::any;
  }
  if (const auto launch = place.find("launch")) state.launch = read_launch(reader, *launch);
  if (const auto input = place.find("launch_input")) {
    state.launch_input = read_template_map(reader, *input, "launch_input");
  }
}

}  // namespace treaty::machines
