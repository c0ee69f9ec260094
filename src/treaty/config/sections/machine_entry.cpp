#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "treaty/base/hash.h"
#include "treaty/config/sections/sections.h"
#include "treaty/http/net/address_guard.h"
#include "treaty/machines/load.h"

namespace treaty::config {
namespace {

using machines::AgentReference;
using machines::Machine;
using yaml::Node;

std::string directory_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string path_from(const std::string& directory, std::string_view path) {
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

constexpr std::size_t kMostTold = 20;  // Of one file.

void note_findings(ConfigReader& reader, const std::string& path, const machines::Loaded& loaded) {
  for (std::size_t i = 0; i < loaded.violations.size(); ++i) {
    const Diagnostic& finding = loaded.violations[i];
    if (i == kMostTold) {
      return reader.note({.where = path,
                          .line = finding.line,
                          .column = finding.column,
                          .message = "and more",
                          .hint = "`treaty machine check FILE` tells all of it"});
    }
    reader.note({.where = path,
                 .line = finding.line,
                 .column = finding.column,
                 .message = fmt::format("{} {}", finding.rule, finding.message),
                 .hint = finding.hint});
  }
}

std::shared_ptr<const Machine> read_machine(ConfigReader& reader, const std::string& path,
                                            std::string_view text) {
  machines::Loaded loaded = machines::load_machine(text, {.directory = directory_of(path)});
  note_findings(reader, path, loaded);
  return std::move(loaded.machine);
}

using OnAgent = std::function<void(const AgentReference& agent, const Machine& machine)>;

// Looks at the agents of a machine and of all machines that it leads to. `seen` are their files.
void visit(ConfigReader& reader, const Machine& machine, std::set<std::string>& seen,
           const OnAgent& on_agent) {
  for (const auto& [name, agent] : machine.agents) on_agent(agent, machine);
  for (const auto& [name, child] : machine.machines) {
    if (child.inlined) {
      visit(reader, *child.inlined, seen, on_agent);
      continue;
    }
    const std::string path = path_from(machine.directory, child.path);
    if (!seen.insert(path).second) continue;
    const auto text = reader.sources().read_file(path);
    if (!text) {
      reader.note({.where = path,
                   .message = fmt::format("the machine '{}' {}", name, text.error().message)});
    } else if (const auto found = read_machine(reader, path, *text)) {
      visit(reader, *found, seen, on_agent);
    }
  }
}

std::optional<std::string> text_member(const machines::Object& object, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->value().is_string()) return std::nullopt;
  return std::string(found->value().get_string());
}

// The agent of treaty.yaml that a machine's agent is; nothing when it is another one.
std::optional<std::string> agent_named(const machines::Dynamic& source,
                                       const std::string& directory, const Sources& sources) {
  std::optional<std::string> name;
  if (source.is_string()) name = std::string(source.get_string());
  if (const auto* object = source.if_object()) {
    const auto type = text_member(*object, "type");
    if (type == "treaty") return text_member(*object, "ref").value_or(turns::kDefaultAgent);
    if (type == "flatagent") name = text_member(*object, "ref");
  }
  if (!name || sources.file_exists(path_from(directory, *name))) return std::nullopt;
  return name;
}

using Names = std::set<std::string>;

// The agents that the machine of an entry asks.
Names asked_by(ConfigReader& reader, const Draft& draft, const MachineEntry& entry) {
  Names asked;
  const auto* found = draft.configuration.find_backend<MachineFile>(entry.backend);
  if (found == nullptr) return asked;
  Names seen;
  visit(reader, *found->machine, seen, [&](const AgentReference& agent, const Machine& machine) {
    if (const auto problem = flat_agent_problem(reader.sources(), draft.configuration, agent.source,
                                                machine.directory)) {
      reader.note(*entry.place, fmt::format("'{}', an agent of the machine {}: {}", agent.name,
                                            machine.name, *problem));
    }
    const auto name = agent_named(agent.source, machine.directory, reader.sources());
    if (!name) return;
    const turns::Agent* meant = draft.configuration.turns.find_agent(*name);
    if (meant != nullptr) {
      asked.insert(meant->name);
      return;
    }
    reader.note(*entry.place,
                fmt::format("'{}', an agent of the machine {}, is neither a file nor an agent",
                            *name, machine.name),
                "give the path of a flatagent, or the name of an agent of this file");
  });
  return asked;
}

// True when `from` asks `to`, or somebody who does. `asks` is by the agent that asks.
bool leads(const std::map<std::string, Names>& asks, const std::string& from, const std::string& to,
           Names& seen) {
  if (from == to) return true;
  const auto asked = asks.find(from);
  if (asked == asks.end() || !seen.insert(from).second) return false;
  return std::ranges::any_of(asked->second,
                             [&](const auto& next) { return leads(asks, next, to, seen); });
}

void take_addresses(ConfigReader& reader, const Node& node, Draft& draft) {
  if (!reader.is_list(node, "addresses")) return;
  for (const Node& item : node.items) {
    const auto text = reader.phrase(item);
    if (!text) continue;
    const std::string allowed[] = {*text};
    if (!http::AddressGuard::allowing(allowed)) {
      reader.note(item, "expected an address, a network or the name of a host",
                  "such as 127.0.0.1, 10.1.0.0/16, fd00::/8 or hooks.internal");
    }
    draft.configuration.allowed_addresses.push_back(*text);
  }
}

constexpr auto kMachinesMembers = std::to_array<ConfigMember<Draft>>({
    {"allow_addresses", take_addresses},
});

}  // namespace

// When to try again is the machine's to say, and the agents behind it have breakers of their own.
dispatch::Choice take_machine(ConfigReader& reader, const Node& node, const std::string& agent,
                              dispatch::Choice choice, Draft& draft) {
  choice.policy.max_attempts = 1;
  choice.policy.breaker_failures = 0;
  const auto file = reader.file(node);
  if (!file) return choice;
  choice.backend = backend_name("machine", file->path, draft.configuration);
  if (draft.configuration.find_backend<MachineFile>(choice.backend) == nullptr) {
    auto machine = read_machine(reader, file->path, file->text);
    if (!machine) return choice;
    Sha256 digest;
    digest.add(file->text);
    draft.configuration.backends[choice.backend] =
        MachineFile{.path = file->path, .sha256 = digest.hex(), .machine = std::move(machine)};
  }
  choice.model = draft.configuration.find_backend<MachineFile>(choice.backend)->machine->name;
  draft.machine_entries.push_back({.agent = agent, .place = &node, .backend = choice.backend});
  return choice;
}

void take_machines(ConfigReader& reader, const Node& node, Draft& draft) {
  reader.members<Draft>(node, "machines", kMachinesMembers, draft);
}

void settle_machines(ConfigReader& reader, const Draft& draft) {
  std::vector<Names> asked;  // By entry.
  std::map<std::string, Names> asks;
  for (const MachineEntry& entry : draft.machine_entries) {
    asked.push_back(asked_by(reader, draft, entry));
    asks[entry.agent].insert(asked.back().begin(), asked.back().end());
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const MachineEntry& entry = draft.machine_entries[i];
    for (const std::string& name : asked[i]) {
      Names seen;
      if (!leads(asks, name, entry.agent, seen)) continue;
      reader.note(
          *entry.place,
          fmt::format("the agent {} would ask itself without end: its machine asks {}", entry.agent,
                      name == entry.agent ? "it again" : fmt::format("{}, which leads back", name)),
          "give the machine's states other agents");
    }
  }
}

void add_machine_keys(Keys& keys) { add_keys(keys, "machines.", kMachinesMembers); }

}  // namespace treaty::config
