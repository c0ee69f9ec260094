#include "treaty/cli/shared/turn_events.h"

#include <charconv>

#include "treaty/base/json.h"

namespace treaty::cli {
namespace {

// 0 when it is no number: then nothing tells whether the event is new, and it is taken as new.
std::int64_t number_of(std::string_view id) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(id.data(), id.data() + id.size(), number);
  return failure == std::errc() && end == id.data() + id.size() ? number : 0;
}

}  // namespace

void TurnEvents::feed(std::string_view bytes) {
  reader_.feed(bytes);
  while (const auto event = reader_.next()) {
    const std::int64_t id = number_of(event->last_event_id);
    if (result_ || (id != 0 && id <= last_id_)) continue;
    if (id != 0) last_id_ = id;
    take(*event);
  }
}

void TurnEvents::take(const http::Event& event) {
  if (event.name == "turn.result") {
    result_ = std::string(event.data);
    return;
  }
  const json::Document document(event.data);
  if (event.name == "output.delta") {
    on_text_(json::find_text(document.root(), "DeltaText"));
  } else if (event.name == "turn.started") {
    session_id_ = json::find_text(document.root(), "SessionId");
    turn_id_ = json::find_text(document.root(), "TurnId");
  }
}

}  // namespace treaty::cli
