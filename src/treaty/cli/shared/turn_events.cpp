#include "treaty/cli/shared/turn_events.h"

#include "treaty/base/json.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {
void TurnEvents::feed(std::string_view bytes) {
  reader_.feed(bytes);
  while (const auto event = reader_.next()) {
    // 0 when it is no number: nothing tells then whether the event is new, and it is taken as new.
    const auto id = read_number<std::int64_t>(event->last_event_id).value_or(0);
    if (result_ || (id != 0 && id <= last_id_)) continue;
    if (id != 0) last_id_ = id;
    take(*event);
  }
}

void TurnEvents::take(const http::StreamedEvent& event) {
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
