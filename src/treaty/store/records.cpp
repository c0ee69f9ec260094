#include "treaty/store/records.h"

namespace treaty::store {

std::string_view name_of(TurnState state) {
  switch (state) {
    case TurnState::accepted: return "accepted";
    case TurnState::awaiting_tools: return "awaiting_tools";
    case TurnState::completed: return "completed";
    case TurnState::failed: return "failed";
    case TurnState::cancelled: return "cancelled";
    case TurnState::expired: return "expired";
  }
  return "";
}

}  // namespace treaty::store
