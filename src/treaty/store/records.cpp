#include "treaty/store/records.h"

#include <chrono>

#include "treaty/store/store_options.h"

namespace treaty::store {

Milliseconds system_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

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
