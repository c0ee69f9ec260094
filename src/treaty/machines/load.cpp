#include "treaty/machines/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "treaty/base/hash.h"
#include "treaty/base/text.h"
#include "treaty/machines/reading/reader.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

using yaml::Kind;

constexpr std::array<std::string_view, 4> kTopKeys = {"spec", "spec_version", "data", "metadata"};
constexpr std::array<std::string_view, 9> kDataKeys = {
    "name",   "expression_engine", "context",     "agents",         "machines",
    "states", "settings",          "persistence", "lifecycle_hooks"};

std::shared_ptr<Machine> read_machine(const Place& root, Findings& findings,
                                      const LoadOptions& options, std::string text);

// MCH-02, MCH-03.
void read_head(Reader& reader, const Place& root, Machine& machine) {
  const auto spec = root.find("spec");
  if (!spec || spec->value().text != "flatmachine") {
    reader.findings.violate("MCH-02", root.nearest("spec"),
                            fmt::format("Invalid spec: expected 'flatmachine', got {}",
                                        quote(spec ? spec->value().text : "")),
                            "write `spec: flatmachine`");
  }
  const auto version = root.find("spec_version");
  if (!version) {
    reader.findings.warn("MCH-03", root.nearest("spec_version"),
                         "spec_version is missing; 4.x is taken for granted",
                         "write `spec_version: \"4.2.1\"`");
    return;
  }
  machine.spec_version = version->value().text;
  if (machine.spec_version != "4" && !machine.spec_version.starts_with("4.")) {
    reader.findings.violate(
        "MCH-03", *version,
        fmt::format("spec_version is {}; 4.x is read here", quote(machine.spec_version)),
        "write `spec_version: \"4.2.1\"` once the file keeps to it");
  }
}

// MCH-04. `hooks` stood here in earlier versions of the original.
void check_data_keys(Reader& reader, const Place& data) {
  if (const auto hooks = data.find("hooks")) {
    reader.findings.violate("MCH-04", *hooks, "data.hooks has moved",
                            "lifecycle_hooks for the beginning and the end of the machine, hooks "
                            "in a state for what happens there");
  }
  reader.refuse_unknown_keys(data, "data", kDataKeys);
}

// MCH-21.
void check_engine(Reader& reader, const Place& data) {
  const auto engine = data.find("expression_engine");
  if (!engine) return;
  if (engine->value().text == "cel") {
    reader.findings.violate("MCH-21", *engine, "the expression engine cel is not there",
                            "conditions of the engine `simple` know in, lists and arithmetic");
  } else {
    constexpr std::array<std::string_view, 1> kEngines = {"simple"};
    reader.word(*engine, "expression_engine", kEngines);
  }
}

Names names_in(const Place& data, std::string_view section) {
  Names out;
  const auto place = data.find(section);
  if (!place) return out;
  for (const auto& [key, _] : place->value().members) out.insert(key.text);
  return out;
}

// --- settings, persistence, agents

constexpr std::array<std::string_view, 2> kErrorHooks = {"runtime", "all"};
constexpr std::array<std::string_view, 4> kPersistenceKeys = {"enabled", "backend", "db_path",
                                                              "checkpoint_on"};
constexpr std::array<std::string_view, 3> kBackends = {"local", "sqlite", "memory"};
constexpr std::array<std::string_view, 8> kEvents = {"machine_start", "state_enter",  "execute",
                                                     "waiting",       "tool_call",    "state_exit",
                                                     "machine_end",   "machine_error"};
constexpr std::array<std::string_view, 3> kAgentKeys = {"type", "ref", "config"};

void read_limit(Reader& reader, const Place& map, std::string_view key, std::int64_t least,
                std::int64_t& out) {
  const auto place = map.find(key);
  if (!place) return;
  out = reader.integer(*place, key, least, std::numeric_limits<std::int64_t>::max()).value_or(out);
}

// MCH-04, W: backends of the original have keys of their own.
void warn_unknown_keys(Reader& reader, const Place& map) {
  for (const auto& member : map.value().members) {
    const std::string& key = member.first.text;
    if (std::ranges::find(kPersistenceKeys, key) != kPersistenceKeys.end()) continue;
    reader.findings.warn("MCH-04", map.member(member),
                         fmt::format("persistence has no key {}", quote(key)),
                         reader.findings.is_full() ? "" : hint_nearest(kPersistenceKeys, key));
  }
}

std::vector<std::string> read_events(Reader& reader, const Place& place) {
  std::vector<std::string> out;
  if (!reader.is_list(place, "checkpoint_on")) return out;
  for (std::size_t i = 0; i < place.value().items.size(); ++i) {
    const auto event = reader.word(place.entry(i), "an event of checkpoint_on", kEvents);
    if (event) out.emplace_back(kEvents[*event]);
  }
  return out;
}

// {type, ref?, config?}, or a whole flatagent.
void check_agent_map(Reader& reader, const Place& place) {
  const auto spec = place.find("spec");
  const bool is_inline = spec && spec->value().text == "flatagent";
  const auto type = place.find("type");
  if (is_inline && !type) {
    const auto data = place.find("data");
    if (!data) {
      reader.findings.violate("MCH-05", place, "an inline flatagent without data");
    } else {
      reader.is_map(*data, "the data of a flatagent");
    }
    return;
  }
  if (!type) {
    reader.findings.violate("MCH-05", place,
                            "an agent is a path, an inline flatagent, or {type, ref, config}",
                            spec ? fmt::format("its spec is {}", quote(spec->value().text)) : "");
    return;
  }
  reader.text(*type, "the type of an agent");
  reader.refuse_unknown_keys(place, "an agent", kAgentKeys);
  if (const auto ref = place.find("ref")) reader.text(*ref, "ref");
  if (const auto config = place.find("config")) reader.is_map(*config, "config");
}

MachineSettings read_settings(Reader& reader, const Place& place) {
  MachineSettings out;
  if (!reader.is_map(place, "settings")) return out;
  read_limit(reader, place, "max_steps", 1, out.max_steps);
  read_limit(reader, place, "max_depth", 0, out.max_depth);
  read_limit(reader, place, "max_parallel", 1, out.max_parallel);
  if (const auto hook = place.find("on_error_hook")) {
    out.on_error_hook_for_all = reader.word(*hook, "on_error_hook", kErrorHooks) == 1;
  }
  return out;
}

Persistence read_persistence(Reader& reader, const Place& place) {
  Persistence out;
  if (!reader.is_map(place, "persistence")) return out;
  warn_unknown_keys(reader, place);
  if (const auto enabled = place.find("enabled")) {
    out.enabled = reader.boolean(*enabled, "enabled").value_or(true);
  }
  if (const auto backend = place.find("backend")) {
    constexpr std::array kKinds = {PersistenceKind::local, PersistenceKind::sqlite,
                                   PersistenceKind::memory};
    const auto chosen = reader.word(*backend, "backend", kBackends);
    if (chosen) out.kind = kKinds[*chosen];
  }
  if (const auto path = place.find("db_path")) {
    out.db_path = reader.text(*path, "db_path").value_or("");
  }
  if (const auto events = place.find("checkpoint_on")) {
    out.checkpoint_on = read_events(reader, *events);
  }
  return out;
}

std::map<std::string, AgentReference, std::less<>> read_agents(Reader& reader, const Place& place) {
  std::map<std::string, AgentReference, std::less<>> out;
  for (const auto& member : place.value().members) {
    const Place agent = place.member(member);
    if (agent.kind() == Kind::map) {
      check_agent_map(reader, agent);
    } else if (agent.kind() != Kind::string || is_blank(agent.value().text)) {
      reader.wrong(agent, "an agent", "a path, an inline flatagent, or {type, ref, config}");
    }
    out.emplace(member.first.text,
                AgentReference{.name = member.first.text, .source = to_value(agent.value())});
  }
  return out;
}

// --- machines, states

MachineReference read_reference(Reader& reader, const Place& place) {
  if (place.kind() == Kind::map) {
    const bool is_outermost = reader.findings.pin(place);
    MachineReference out{.inlined = read_machine(place, reader.findings, reader.options,
                                                 yaml::to_json(place.value()))};
    if (is_outermost) reader.findings.unpin();
    return out;
  }
  if (place.kind() == Kind::string && !is_blank(place.value().text)) {
    return {.path = place.value().text};
  }
  reader.wrong(place, "a machine", "a path or an inline machine");
  return {};
}

void read_machines(Reader& reader, const Place& data, Machine& machine) {
  const auto place = data.find("machines");
  if (!place || !reader.is_map(*place, "machines")) return;
  for (const auto& member : place->value().members) {
    machine.machines.emplace(member.first.text, read_reference(reader, place->member(member)));
  }
}

// MCH-06.
void read_states(Reader& reader, const Place& data, Machine& machine) {
  const auto states = data.find("states");
  if (!states) {
    reader.findings.violate("MCH-06", data.nearest("states"), "No states defined");
    return;
  }
  if (!reader.is_map(*states, "states")) return;
  if (states->value().members.empty()) {
    reader.findings.violate("MCH-06", *states, "No states defined");
    return;
  }
  std::vector<Place> places;
  for (const auto& member : states->value().members) {
    const Place place = states->member(member);
    State state{.name = member.first.text, .line = place.line()};
    if (reader.is_map(place, "a state")) {
      state = read_state(reader, place);
      check_state(reader, place, state);
    }
    machine.states.push_back(std::move(state));
    places.push_back(place);
  }
  check_structure(reader, *states, places, machine);
}

void read_data(Reader& reader, const Place& data, Machine& machine) {
  check_data_keys(reader, data);
  reader.states = names_in(data, "states");
  reader.agents = names_in(data, "agents");
  reader.machines = names_in(data, "machines");
  if (const auto name = data.find("name")) {
    machine.name = reader.text(*name, "name").value_or("");
  }
  check_engine(reader, data);
  if (const auto context = data.find("context")) {
    machine.context = read_template_members(reader, *context, "context");
  }
  const auto agents = data.find("agents");
  if (agents && reader.is_map(*agents, "agents")) machine.agents = read_agents(reader, *agents);
  if (const auto settings = data.find("settings")) {
    machine.settings = read_settings(reader, *settings);
  }
  if (const auto persistence = data.find("persistence")) {
    machine.persistence = read_persistence(reader, *persistence);
  }
  if (const auto hooks = data.find("lifecycle_hooks")) {
    machine.lifecycle_hooks = read_hooks(reader, *hooks);
  }
  read_machines(reader, data, machine);
  read_states(reader, data, machine);
}

std::shared_ptr<Machine> read_machine(const Place& root, Findings& findings,
                                      const LoadOptions& options, std::string text) {
  Reader reader(findings, options);
  auto machine = std::make_shared<Machine>();
  machine->config_hash = sha256_hex(text);
  machine->text = std::move(text);
  machine->directory = options.directory;
  read_head(reader, root, *machine);
  reader.refuse_unknown_keys(root, "a machine", kTopKeys);
  const auto data = root.find("data");
  if (!data) {
    findings.violate("MCH-05", root.nearest("data"), "there is no data",
                     "the states stand in `data: states:`");
  } else if (reader.is_map(*data, "data")) {
    read_data(reader, *data, *machine);
  }
  return machine;
}

}  // namespace

Loaded load_machine(std::string_view text, const LoadOptions& options) {
  Loaded out;
  const auto tree = read_source(text);
  if (!tree) {
    out.violations.push_back(tree.error());
    settle_places(text, out.violations);
    return out;
  }
  Findings findings;
  auto machine = read_machine(Place(*tree), findings, options, std::string(text));
  if (!findings.has_violation()) out.machine = std::move(machine);
  findings.finish(text, out);
  return out;
}

}  // namespace treaty::machines
