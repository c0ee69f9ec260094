// `agents`: what they are told, with which tools, and how much they may spend.
#include <fmt/format.h>

#include <array>

#include "treaty/base/text.h"
#include "treaty/config/sections/sections.h"

namespace treaty::config {
namespace {

using turns::Agent;
using turns::AgentRole;
using yaml::Node;

constexpr std::size_t kLongestName = 128;  // Of what a request may name.

// A role while it is read: what is written nowhere comes from the agent.
struct RoleDraft {
  AgentRole& role;
  const Node* system{};
};

void take_mode(ConfigReader& reader, const Node& node, RoleDraft& draft) {
  auto mode = reader.phrase(node);
  if (!mode) return;
  if (has_control_character(*mode)) reader.note(node, "a mode is one line of text");
  draft.role.mode = *std::move(mode);
}

void note_second_system(ConfigReader& reader, const Node& node, RoleDraft& draft) {
  if (draft.system != nullptr) {
    reader.note(node, "there are both `system` and `system_file`", "leave out one of the two");
  }
  draft.system = &node;
}

void take_system(ConfigReader& reader, const Node& node, RoleDraft& draft) {
  note_second_system(reader, node, draft);
  if (auto text = reader.text(node)) draft.role.system = *std::move(text);
}

void take_system_file(ConfigReader& reader, const Node& node, RoleDraft& draft) {
  note_second_system(reader, node, draft);
  auto file = reader.file(node);
  if (!file) return;
  if (!is_utf8(file->text)) reader.note(node, "the file is not UTF-8");
  draft.role.system = trimmed(file->text);
}

void take_role_tools(ConfigReader& reader, const Node& node, RoleDraft& draft) {
  draft.role.tools = read_tools(reader, node);
}

constexpr auto kRoleMembers = std::to_array<ConfigMember<RoleDraft>>({
    {"mode", take_mode},
    {"system", take_system},
    {"system_file", take_system_file},
    {"tools", take_role_tools},
});

// An agent while it is read.
struct AgentDraft {
  Agent& agent;
  RoleDraft role;
  Draft& draft;
  const Node* conversations{};
  bool has_backends = false;
};

template <void (*Take)(ConfigReader&, const Node&, Agent&)>
void of_agent(ConfigReader& reader, const Node& node, AgentDraft& target) {
  Take(reader, node, target.agent);
}

template <void (*Take)(ConfigReader&, const Node&, RoleDraft&)>
void of_role(ConfigReader& reader, const Node& node, AgentDraft& target) {
  Take(reader, node, target.role);
}

constexpr std::array<std::string_view, 2> kMismatchWords = {"keep", "fail_turn"};
constexpr std::array<std::string_view, 2> kDisconnectWords = {"continue", "cancel"};
constexpr std::array<std::string_view, 2> kCutWords = {"fail", "continue"};

constexpr auto kAgentMembers = std::to_array<ConfigMember<AgentDraft>>({
    {"description", of_agent<yaml::take_text<&Agent::description>>},
    {"mode", of_role<take_mode>},
    {"system", of_role<take_system>},
    {"system_file", of_role<take_system_file>},
    {"backends",
     [](ConfigReader& reader, const Node& node, AgentDraft& target) {
       target.has_backends = node.kind != yaml::Kind::null;
       take_chain(reader, node, target.agent, target.draft);
     }},
    {"dispatch",
     [](ConfigReader& reader, const Node& node, AgentDraft& target) {
       take_policy(reader, node, target.draft.agent_policies[target.agent.name]);
     }},
    {"budget",
     [](ConfigReader& reader, const Node& node, AgentDraft& target) {
       target.agent.budget = read_budget(reader, node, target.agent.name, target.draft);
     }},
    {"tools", of_role<take_role_tools>},
    {"conversations", take_place<&AgentDraft::conversations>},
    {"max_rounds", of_agent<yaml::take_integer<1, 99, &Agent::max_rounds>>},
    {"deadline",
     [](ConfigReader& reader, const Node& node, AgentDraft& target) {
       take_duration<24, &Agent::deadline>(reader, node, target.agent);
       target.draft.agents_with_deadline.insert(target.agent.name);
     }},
    {"on_mismatch", of_agent<take_word<kMismatchWords, &Agent::on_mismatch>>},
    {"on_disconnect", of_agent<take_word<kDisconnectWords, &Agent::on_disconnect>>},
    {"on_cut", of_agent<take_word<kCutWords, &Agent::on_cut>>},
    {"show_thinking", of_agent<yaml::take_boolean<&Agent::show_thinking>>},
});

void check_name(ConfigReader& reader, const Node& name, std::string_view what) {
  if (is_blank(name.text) || name.text.size() > kLongestName || has_control_character(name.text)) {
    reader.note(name, fmt::format("the name of {} is 1 to {} bytes of text on one line", what,
                                  kLongestName));
  }
}

void take_conversations(ConfigReader& reader, const Node& node, Agent& agent) {
  if (!reader.is_map(node, "conversations")) return;
  for (const auto& [name, value] : node.members) {
    check_name(reader, name, "a conversation");
    AgentRole& role = agent.conversations[name.text] = agent.role;
    RoleDraft draft{.role = role};
    reader.members<RoleDraft>(value, "a conversation", kRoleMembers, draft);
  }
}

void take_agent(ConfigReader& reader, const Node& name, const Node& node, Draft& draft) {
  check_name(reader, name, "an agent");
  Agent& agent = draft.configuration.turns.agents[name.text];
  agent.name = name.text;
  AgentDraft target{.agent = agent, .role = {.role = agent.role}, .draft = draft};
  reader.members<AgentDraft>(node, "an agent", kAgentMembers, target);
  if (!target.has_backends) draft.agents_without_backends.push_back(agent.name);
  if (target.conversations != nullptr) take_conversations(reader, *target.conversations, agent);
}

}  // namespace

void take_agents(ConfigReader& reader, const Node& node, Draft& draft) {
  if (!reader.is_map(node, "agents")) return;
  for (const auto& [name, value] : node.members) take_agent(reader, name, value, draft);
}

void add_agent_keys(Keys& keys) {
  const std::string agent = "agents.NAME.";
  add_keys(keys, agent, kAgentMembers);
  add_chain_keys(keys, agent + "backends[].");
  add_budget_keys(keys, agent + "budget.");
  add_tool_keys(keys, agent + "tools[].");
  add_keys(keys, agent + "conversations.NAME.", kRoleMembers);
}

}  // namespace treaty::config
