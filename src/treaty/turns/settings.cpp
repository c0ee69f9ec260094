#include "treaty/turns/settings.h"

namespace treaty::turns {

const Role* Agent::find_role(std::string_view conversation) const {
  if (conversation.empty()) return &role;
  const auto found = conversations.find(conversation);
  return found == conversations.end() ? nullptr : &found->second;
}

const Agent* Settings::find_agent(std::string_view name) const {
  const auto found = agents.find(name);
  if (found != agents.end()) return &found->second;
  return name == kDefaultAgent && agents.size() == 1 ? &agents.begin()->second : nullptr;
}

}  // namespace treaty::turns
