// The sections of treaty.yaml: each takes its part of the file into a draft. What one section says
// about another is settled when all have been read.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/config/configuration.h"
#include "treaty/config/reader.h"
#include "treaty/templates/value.h"
#include "treaty/turns/settings.h"

namespace treaty::config {

// An entry of an agent's chain that names a provider.
struct ProviderReference {
  std::string agent;
  std::size_t index = 0;         // In its chain.
  const yaml::Node* entry{};     // The whole entry,
  const yaml::Node* provider{};  // and the name in it.
  const yaml::Node* reasoning{};
  bool has_model = false;
};

// A budget in dollars needs prices.
struct DollarBudget {
  std::string agent{};  // Whose it is; empty: a tenant's, who may ask any agent.
  const yaml::Node* place{};
};

// An entry of an agent's chain that is a machine.
struct MachineEntry {
  std::string agent{};
  const yaml::Node* place{};
  std::string backend{};
};

struct Draft {
  Configuration configuration{};
  const yaml::Node* listen{};  // Where it is written; null: nowhere.
  const yaml::Node* keys{};
  const yaml::Node* store{};
  std::vector<std::string> provider_order{};  // As in the file,
  std::map<std::string, const yaml::Node*, std::less<>> provider_nodes{};
  std::set<std::string> keyless_providers{};  // Whose key is not asked for again: it was noted.
  std::vector<ProviderReference> references{};
  std::vector<MachineEntry> machine_entries{};
  std::vector<std::string> agents_without_backends{};
  std::set<std::string> agents_with_deadline{};  // Of their own, that is.
  std::map<std::string, PolicyOverrides, std::less<>> agent_policies{};
  std::map<std::string, std::vector<PolicyOverrides>, std::less<>> entry_policies{};  // Of a chain.
  std::vector<DollarBudget> dollar_budgets{};
  std::vector<const yaml::Node*> tenant_names{};
};

// The whole file.
std::span<const ConfigMember<Draft>> file_members();

void take_providers(ConfigReader& reader, const yaml::Node& node, Draft& draft);
void take_agents(ConfigReader& reader, const yaml::Node& node, Draft& draft);
void take_tenants(ConfigReader& reader, const yaml::Node& node, Draft& draft);
void take_machines(ConfigReader& reader, const yaml::Node& node, Draft& draft);

// After the whole file: names that are used are names that are there, keys that are needed too.
void settle_providers(ConfigReader& reader, Draft& draft);

// After all agents are known: those that machines name are there, and none asks itself.
void settle_machines(ConfigReader& reader, const Draft& draft);

// What is wrong with the FlatAgent that `reference` of a machine in `directory` means: its file
// cannot be read, or its provider does not have the reasoning that it asks for. Nothing: it is
// valid, or the reference means no FlatAgent.
std::optional<std::string> flat_agent_problem(const Sources& sources,
                                              const Configuration& configuration,
                                              const templates::Dynamic& reference,
                                              const std::string& directory);

// After the chains are known: every entry has its whole policy, and what budgets need is there.
void settle_policies(Draft& draft);
void settle_budgets(ConfigReader& reader, const Draft& draft);

// The list `tools` of an agent or a conversation.
std::vector<turns::ClientTool> read_tools(ConfigReader& reader, const yaml::Node& list);

// `agent`: whose it is; empty for that of a tenant.
dispatch::Budget read_budget(ConfigReader& reader, const yaml::Node& node, std::string_view agent,
                             Draft& draft);

// `dispatch`: how patiently a backend is asked. It may stand on a provider, on an agent and on an
// entry of `backends`; what is nearer to the call wins, key by key.
void take_policy(ConfigReader& reader, const yaml::Node& node, PolicyOverrides& overrides);

// The policy with what is written in the place of what it was.
dispatch::Policy overridden(dispatch::Policy policy, const PolicyOverrides& overrides);

void take_chain(ConfigReader& reader, const yaml::Node& node, turns::Agent& agent, Draft& draft);

// The name of a backend that is made from a file or a directory: "script:play.yaml". Clients see it
// in events and answers, so it has no path. A second file of the same name gets a number.
std::string backend_name(std::string_view kind, const std::string& path,
                         const Configuration& configuration, std::string_view more = {});

// `choice` with the machine as its backend. What is wrong with the file is noted with its places.
dispatch::Choice take_machine(ConfigReader& reader, const yaml::Node& node,
                              const std::string& agent, dispatch::Choice choice, Draft& draft);

// The first provider of the file, else the first whose key is in the environment, else the built-in
// demo. The configuration's notes say which, and why.
void settle_backends(ConfigReader& reader, Draft& draft);

// The provider of that kind as it is without a word in the file.
HttpProvider provider_of_kind(const Sources& sources, std::string_view kind);

// The model of a kind of provider that is good for a beginning; empty: there is none.
std::string_view default_model_of(std::string_view kind);

// The agent that is there without any key: scripted, with two tools for the client to run.
constexpr std::string_view kDemoBackend = "scripted:demo";
std::string_view demo_script();  // What it says: a script for the scripted backend.
std::string_view demo_agent();   // What it is: a treaty.yaml with nothing but `agents`.

// The keys of a table of members below a section, for known_keys().
using Keys = std::vector<std::string>;
void add_keys(Keys& keys, const std::string& section, const auto& members) {
  for (const auto& member : members) keys.push_back(section + std::string(member.name));
}
void add_server_keys(Keys& keys);
void add_provider_keys(Keys& keys);
void add_agent_keys(Keys& keys);
void add_tenant_keys(Keys& keys);
void add_machine_keys(Keys& keys);
void add_chain_keys(Keys& keys, const std::string& section);
void add_policy_keys(Keys& keys, const std::string& section);
void add_budget_keys(Keys& keys, const std::string& section);
void add_tool_keys(Keys& keys, const std::string& section);

}  // namespace treaty::config
