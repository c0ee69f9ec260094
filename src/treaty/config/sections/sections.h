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
#include "treaty/turns/settings.h"

namespace treaty::config {

// An entry of an agent's chain that names a provider.
struct ProviderReference {
  std::string agent;
  std::size_t index = 0;         // In its chain.
  const yaml::Node* entry{};     // The whole entry,
  const yaml::Node* provider{};  // and the name in it.
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

// After the chains are known: every entry has its whole policy, and what budgets need is there.
void settle_policies(Draft& draft);
void settle_budgets(ConfigReader& reader, const Draft& draft);

// The list `tools` of an agent or a conversation.
std::vector<turns::ClientTool> read_tools(ConfigReader& reader, const yaml::Node& list);

std::vector<std::string_view> tool_keys();

// `agent`: whose it is; empty for that of a tenant.
dispatch::Budget read_budget(ConfigReader& reader, const yaml::Node& node, std::string_view agent,
                             Draft& draft);

std::vector<std::string_view> budget_keys();

void take_chain(ConfigReader& reader, const yaml::Node& node, turns::Agent& agent, Draft& draft);

void add_chain_keys(std::vector<std::string>& keys, const std::string& section);

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

// The keys below a section, for known_keys().
void add_keys(std::vector<std::string>& keys, const std::string& section,
              const std::vector<std::string_view>& names);
std::vector<std::string> server_keys();
std::vector<std::string> provider_keys();
std::vector<std::string> agent_keys();
std::vector<std::string> tenant_keys();
std::vector<std::string> machine_keys();

}  // namespace treaty::config
