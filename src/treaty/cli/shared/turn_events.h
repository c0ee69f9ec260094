// What the stream of one round tells, however often it was cut and taken up again: each event
// counts once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/http/event_stream.h"

namespace treaty::cli {

class TurnEvents {
 public:
  // `on_text` gets each piece of the answer's text.
  explicit TurnEvents(std::function<void(std::string_view)> on_text)
      : on_text_(std::move(on_text)) {}

  // Bytes of a text/event-stream.
  void feed(std::string_view bytes);

  // What follows comes on another connection.
  void begin_connection() { reader_ = http::EventStreamReader(); }

  // The id of the last event; 0 when none came.
  std::int64_t last_id() const { return last_id_; }

  // As turn.started told them; empty until then.
  const std::string& session_id() const { return session_id_; }
  const std::string& turn_id() const { return turn_id_; }

  // The InvokeResult, once it came.
  const std::optional<std::string>& result() const { return result_; }

 private:
  void take(const http::StreamedEvent& event);

  std::function<void(std::string_view)> on_text_;
  http::EventStreamReader reader_{};
  std::int64_t last_id_ = 0;
  std::string session_id_{};
  std::string turn_id_{};
  std::optional<std::string> result_{};
};

}  // namespace treaty::cli
