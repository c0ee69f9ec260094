#include "treaty/turns/settings.h"

namespace treaty::turns {

const Role* Agent::find_role(std::string_view conversation) const {
  if (conversation.empty()) return &role;
  const auto found = conversations.find(conversation);
  return found == conversations.end() ? nullptr : &found->second;
}

}  // namespace treaty::turns
