// What the turn engine is told by the configuration: agents, their roles and tools, and the rules
// of sessions. A value; a reload makes another one, and running turns keep theirs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/schema/schema.h"
#include "treaty/dispatch/budgets/budget.h"
#include "treaty/dispatch/chain.h"

namespace treaty::turns {

// A tool that the client runs.
struct ClientTool {
  backends::Tool declaration;
  std::shared_ptr<const schema::Schema> parameters{};  // Null: any object.
};

// What an agent is in one kind of conversation.
struct AgentRole {
  std::string mode = "General";  // ModeDisplayName.
  std::string system{};
  std::vector<ClientTool> tools{};
};

enum class OnMismatch { keep_pending, fail_turn };
enum class OnDisconnect { keep_running, cancel };
enum class OnCut { fail, go_on };  // A backend fails after some of its text has left.

struct Agent {
  std::string name;
  std::string description{};
  AgentRole role{};  // Without a ConversationContextId.
  std::map<std::string, AgentRole, std::less<>> conversations{};  // By ConversationContextId.
  std::vector<dispatch::Choice> chain{};        // One or more; order is preference.
  int max_rounds = 8;                           // Of tools, in one turn.
  std::chrono::milliseconds deadline{300'000};  // Of a round: from its request to its answer.
  OnMismatch on_mismatch = OnMismatch::keep_pending;
  OnDisconnect on_disconnect = OnDisconnect::keep_running;
  OnCut on_cut = OnCut::fail;
  bool show_thinking = false;  // What can be read of the model's thoughts is told in the events.
  dispatch::Budget budget{};   // Of all its turns, whoever sends them.

  // Null when there is none of that name; an empty name is the agent's own role.
  const AgentRole* find_role(std::string_view conversation) const;
};

constexpr const char* kDefaultAgent = "default";

struct Settings {
  std::map<std::string, Agent, std::less<>> agents{};
  bool explicit_sessions = false;  // sessions.open: explicit.
  bool initial_requests = false;   // sessions.initial: a first request may come without ids.
  std::chrono::milliseconds tool_deadline{std::chrono::hours(24)};
  std::size_t max_running_turns = 1'000;  // More of them: overloaded.
  std::map<std::string, dispatch::Budget, std::less<>> tenant_budgets{};

  // Null when there is none of that name. A request that names no agent means `default`. If there
  // is only one agent, `default` finds it whatever its name.
  const Agent* find_agent(std::string_view name) const;
};

inline const AgentRole* Agent::find_role(std::string_view conversation) const {
  if (conversation.empty()) return &role;
  const auto found = conversations.find(conversation);
  return found == conversations.end() ? nullptr : &found->second;
}

inline const Agent* Settings::find_agent(std::string_view name) const {
  const auto found = agents.find(name);
  if (found != agents.end()) return &found->second;
  return name == kDefaultAgent && agents.size() == 1 ? &agents.begin()->second : nullptr;
}

}  // namespace treaty::turns
