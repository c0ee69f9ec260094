#include "treaty/machines/reading/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "treaty/base/text.h"

namespace treaty::machines {
namespace {

using yaml::Kind;

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

}  // namespace

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

}  // namespace treaty::machines
