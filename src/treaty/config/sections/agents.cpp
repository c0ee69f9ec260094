// `agents`: what they are told, whom they ask, in which order, and with which tools.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/backends/scripted/script.h"
#include "treaty/base/text.h"
#include "treaty/config/demo.h"
#include "treaty/config/sections/sections.h"
#include "treaty/config/sections/tools.h"
#include "treaty/config/units.h"

namespace treaty::config {
namespace {

using turns::Agent;
using turns::Role;
using yaml::Node;

constexpr std::size_t kLongestName = 128;  // Of what a request may name.

// A role while it is read: what is written nowhere comes from the agent.
struct RoleDraft {
  Role& role;
  const Node* system{};
};

void take_mode(Reader& reader, const Node& node, RoleDraft& draft) {
  auto mode = reader.phrase(node);
  if (!mode) return;
  if (has_control_character(*mode)) reader.note(node, "a mode is one line of text");
  draft.role.mode = *std::move(mode);
}

void note_second_system(Reader& reader, const Node& node, RoleDraft& draft) {
  if (draft.system != nullptr) {
    reader.note(node, "there are both `system` and `system_file`", "leave out one of the two");
  }
  draft.system = &node;
}

void take_system(Reader& reader, const Node& node, RoleDraft& draft) {
  note_second_system(reader, node, draft);
  if (auto text = reader.text(node)) draft.role.system = *std::move(text);
}

void take_system_file(Reader& reader, const Node& node, RoleDraft& draft) {
  note_second_system(reader, node, draft);
  auto file = reader.file(node);
  if (!file) return;
  if (!is_utf8(file->text)) reader.note(node, "the file is not UTF-8");
  draft.role.system = trimmed(file->text);
}

void take_role_tools(Reader& reader, const Node& node, RoleDraft& draft) {
  draft.role.tools = read_tools(reader, node);
}

constexpr std::array<Member<RoleDraft>, 4> kRoleMembers = {{
    {"mode", take_mode},
    {"system", take_system},
    {"system_file", take_system_file},
    {"tools", take_role_tools},
}};

// One entry of the chain while it is read.
struct ChoiceDraft {
  dispatch::Choice choice{};
  const Node* provider{};
  const Node* script{};
  const Node* scripted{};
  const Node* bridge{};
  bool has_model = false;
};

constexpr std::chrono::hours kLongestWait(24);

constexpr std::array<Member<BridgeDirectory>, 3> kBridgeMembers = {{
    {"dir",
     [](Reader& reader, const Node& node, BridgeDirectory& bridge) {
       if (const auto path = reader.phrase(node)) bridge.path = reader.path_of(*path);
     }},
    {"agent_name",
     [](Reader& reader, const Node& node, BridgeDirectory& bridge) {
       bridge.agent_name = reader.phrase(node).value_or("");
     }},
    {"timeout",
     [](Reader& reader, const Node& node, BridgeDirectory& bridge) {
       bridge.timeout = reader.duration(node, kLongestWait).value_or(bridge.timeout);
     }},
}};

template <auto Part>
void take_place(Reader& /*reader*/, const Node& node, ChoiceDraft& draft) {
  draft.*Part = &node;
}

constexpr std::array<Member<ChoiceDraft>, 8> kChoiceMembers = {{
    {"provider", take_place<&ChoiceDraft::provider>},
    {"script", take_place<&ChoiceDraft::script>},
    {"scripted", take_place<&ChoiceDraft::scripted>},
    {"bridge", take_place<&ChoiceDraft::bridge>},
    {"model",
     [](Reader& reader, const Node& node, ChoiceDraft& draft) {
       draft.choice.model = reader.phrase(node).value_or("");
       draft.has_model = true;
     }},
    {"context_window",
     [](Reader& reader, const Node& node, ChoiceDraft& draft) {
       auto& window = draft.choice.context_window;
       window = reader.integer(node, 1, 100'000'000).value_or(window);
     }},
    {"max_output_tokens",
     [](Reader& reader, const Node& node, ChoiceDraft& draft) {
       draft.choice.max_output_tokens = reader.integer(node, 1, 100'000'000);
     }},
    {"temperature",
     [](Reader& reader, const Node& node, ChoiceDraft& draft) {
       draft.choice.temperature = reader.decimal(node, 0, 2);
     }},
}};

// An agent while it is read.
struct AgentDraft {
  Agent& agent;
  RoleDraft role;
  Draft& draft;
  const Node* conversations{};
  const Node* backends{};
};

void take_script(Reader& reader, const Node& node, ChoiceDraft& entry, Draft& draft) {
  auto file = reader.file(node);
  if (!file) return;
  entry.choice.backend = fmt::format("script:{}", file->path);
  if (const auto script = backends::read_script(file->text); !script) {
    const auto& first = script.error().front();
    reader.note(node,
                fmt::format("the script {} is not in order: {}:{}: {}", node.text, first.line,
                            first.column, first.message),
                "`treaty mock --check --script FILE` tells all of it");
  }
  draft.configuration.scripts[entry.choice.backend] = {.path = std::move(file->path),
                                                       .text = std::move(file->text)};
}

void take_scripted(Reader& reader, const Node& node, ChoiceDraft& entry, Draft& draft) {
  constexpr std::array<std::string_view, 1> kBuiltIn = {"demo"};
  if (!reader.word(node, kBuiltIn)) return;
  entry.choice.backend = kDemoBackend;
  draft.configuration.scripts[entry.choice.backend] = {.text = std::string(demo_script())};
}

// Whoever answers is asked for the agent of this name, unless the file says another.
void take_bridge(Reader& reader, const Node& node, ChoiceDraft& entry, AgentDraft& target) {
  BridgeDirectory bridge{.agent_name = target.agent.name};
  reader.members<BridgeDirectory>(node, "a bridge", kBridgeMembers, bridge);
  if (node.find("dir") == nullptr &&
      (node.kind == yaml::Kind::map || node.kind == yaml::Kind::null)) {
    reader.note(node, "a bridge needs `dir`, the directory in which it asks",
                "such as {bridge: {dir: /var/lib/agents/reviewer}}");
  }
  entry.choice.backend = fmt::format("bridge:{} ({}, {})", bridge.path, bridge.agent_name,
                                     duration_text(bridge.timeout));
  target.draft.configuration.bridges[entry.choice.backend] = std::move(bridge);
}

void take_backend(Reader& reader, const Node& node, AgentDraft& target) {
  ChoiceDraft entry;
  reader.members<ChoiceDraft>(node, "a backend", kChoiceMembers, entry);
  const std::array<const Node*, 4> named = {entry.provider, entry.script, entry.scripted,
                                            entry.bridge};
  if (std::ranges::count(named, nullptr) != 3 && node.kind == yaml::Kind::map) {
    reader.note(node, "a backend has exactly one of `provider`, `script`, `scripted` and `bridge`",
                "such as {provider: main, model: gpt-5-mini} or {scripted: demo}");
  }
  if (entry.provider != nullptr) {
    const auto name = reader.phrase(*entry.provider);
    if (!name) return;
    entry.choice.backend = *name;
    target.draft.references.push_back({.agent = target.agent.name,
                                       .index = target.agent.chain.size(),
                                       .entry = &node,
                                       .provider = entry.provider,
                                       .has_model = entry.has_model});
  } else if (entry.script != nullptr) {
    take_script(reader, *entry.script, entry, target.draft);
  } else if (entry.scripted != nullptr) {
    take_scripted(reader, *entry.scripted, entry, target.draft);
  } else if (entry.bridge != nullptr) {
    take_bridge(reader, *entry.bridge, entry, target);
  }
  const bool names_a_model =
      entry.has_model || entry.provider != nullptr || entry.bridge != nullptr;
  if (!names_a_model) entry.choice.model = "scripted";
  target.agent.chain.push_back(std::move(entry.choice));
}

void take_backends(Reader& reader, const Node& node, AgentDraft& target) {
  target.backends = &node;
  if (!reader.is_list(node, "backends")) return;
  for (const Node& item : node.items) take_backend(reader, item, target);
}

template <void (*Take)(Reader&, const Node&, RoleDraft&)>
void of_role(Reader& reader, const Node& node, AgentDraft& target) {
  Take(reader, node, target.role);
}

constexpr std::array<std::string_view, 2> kMismatchWords = {"keep", "fail_turn"};
constexpr std::array<std::string_view, 2> kDisconnectWords = {"continue", "cancel"};

constexpr std::array<Member<AgentDraft>, 11> kAgentMembers = {{
    {"description",
     [](Reader& reader, const Node& node, AgentDraft& target) {
       target.agent.description = reader.text(node).value_or("");
     }},
    {"mode", of_role<take_mode>},
    {"system", of_role<take_system>},
    {"system_file", of_role<take_system_file>},
    {"backends", take_backends},
    {"tools", of_role<take_role_tools>},
    {"conversations", [](Reader& /*reader*/, const Node& node,
                         AgentDraft& target) { target.conversations = &node; }},
    {"max_rounds",
     [](Reader& reader, const Node& node, AgentDraft& target) {
       target.agent.max_rounds = static_cast<int>(reader.integer(node, 1, 99).value_or(8));
     }},
    {"deadline",
     [](Reader& reader, const Node& node, AgentDraft& target) {
       const auto deadline = reader.duration(node, std::chrono::hours(24));
       target.agent.deadline = deadline.value_or(target.agent.deadline);
       target.draft.agents_with_deadline.insert(target.agent.name);
     }},
    {"on_mismatch",
     [](Reader& reader, const Node& node, AgentDraft& target) {
       const bool fails = reader.word(node, kMismatchWords).value_or(0) == 1;
       target.agent.on_mismatch =
           fails ? turns::OnMismatch::fail_turn : turns::OnMismatch::keep_pending;
     }},
    {"on_disconnect",
     [](Reader& reader, const Node& node, AgentDraft& target) {
       const bool cancels = reader.word(node, kDisconnectWords).value_or(0) == 1;
       target.agent.on_disconnect =
           cancels ? turns::OnDisconnect::cancel : turns::OnDisconnect::keep_running;
     }},
}};

void check_name(Reader& reader, const Node& name, std::string_view what) {
  if (is_blank(name.text) || name.text.size() > kLongestName || has_control_character(name.text)) {
    reader.note(name, fmt::format("the name of {} is 1 to {} bytes of text on one line", what,
                                  kLongestName));
  }
}

void take_conversations(Reader& reader, const Node& node, Agent& agent) {
  if (!reader.is_map(node, "conversations")) return;
  for (const auto& [name, value] : node.members) {
    check_name(reader, name, "a conversation");
    Role& role = agent.conversations[name.text] = agent.role;
    RoleDraft draft{.role = role};
    reader.members<RoleDraft>(value, "a conversation", kRoleMembers, draft);
  }
}

void take_agent(Reader& reader, const Node& name, const Node& node, Draft& draft) {
  check_name(reader, name, "an agent");
  Agent& agent = draft.configuration.turns.agents[name.text];
  agent.name = name.text;
  AgentDraft target{.agent = agent, .role = {.role = agent.role}, .draft = draft};
  reader.members<AgentDraft>(node, "an agent", kAgentMembers, target);
  if (target.backends == nullptr || target.backends->kind == yaml::Kind::null) {
    draft.agents_without_backends.push_back(agent.name);
  } else if (target.backends->kind == yaml::Kind::list && target.backends->items.empty()) {
    reader.note(*target.backends, fmt::format("the agent {} asks nobody", name.text),
                "leave `backends` out for the usual one");
  }
  if (target.conversations != nullptr) take_conversations(reader, *target.conversations, agent);
}

}  // namespace

void take_agents(Reader& reader, const Node& node, Draft& draft) {
  if (!reader.is_map(node, "agents")) return;
  for (const auto& [name, value] : node.members) take_agent(reader, name, value, draft);
}

std::vector<std::string> agent_keys() {
  std::vector<std::string> keys;
  const std::string agent = "agents.NAME.";
  for (const auto& member : kAgentMembers) keys.push_back(fmt::format("{}{}", agent, member.name));
  for (const auto& member : kChoiceMembers) {
    keys.push_back(fmt::format("{}backends[].{}", agent, member.name));
  }
  for (const auto& member : kBridgeMembers) {
    keys.push_back(fmt::format("{}backends[].bridge.{}", agent, member.name));
  }
  for (const std::string_view key : tool_keys()) {
    keys.push_back(fmt::format("{}tools[].{}", agent, key));
  }
  for (const auto& member : kRoleMembers) {
    keys.push_back(fmt::format("{}conversations.NAME.{}", agent, member.name));
  }
  return keys;
}

}  // namespace treaty::config
