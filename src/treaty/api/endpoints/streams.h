// Following a turn: what its log says goes to the client as it comes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "treaty/api/negotiation.h"
#include "treaty/base/headers.h"
#include "treaty/http/server.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/turn_log.h"

namespace treaty::api {

// --- Streams as text: events of a turn as SSE or as lines of JSON, events of a session's diary as
// SSE. Pure.

Headers stream_headers(StreamForm form);

// A comment, which readers of event streams pass over.
inline constexpr std::string_view kStillHere = ": still here\n\n";

// The last event of a round.
bool is_result(const turns::StreamEvent& event);

class TurnText {
 public:
  TurnText(StreamForm form, const turns::Renderer& renderer, contracts::Dialect dialect)
      : form_(form), renderer_(renderer), dialect_(dialect) {}

  StreamForm form() const { return form_; }

  void append(std::string& out, const turns::StreamEvent& event) const;

  // If `event` is a result whose body can be sent unchanged: appends the head of the event and
  // returns the result; the caller sends the body and a blank line. Otherwise null.
  const turns::Outcome* begin_result(std::string& out, const turns::StreamEvent& event) const;

 private:
  void append_event(std::string& out, const turns::StreamEvent& event) const;
  void append_line(std::string& out, const turns::StreamEvent& event) const;

  StreamForm form_;
  const turns::Renderer& renderer_;
  contracts::Dialect dialect_;
};

void append_event(std::string& out, const turns::DiaryEvent& event);

// --- Following a turn

enum class News {
  some,     // There may be something new in the log.
  none,     // Patience ran out.
  is_gone,  // The client is.
};

// What is noticed of a client while nothing is written to it.
enum class Watch {
  reset,  // Its connection breaks. A client that has closed only its own half still reads.
  close,  // It closes its half of the connection, or all of it.
};

boost::asio::awaitable<News> wait_for_news(http::Exchange& exchange, turns::TurnLog& log,
                                           std::int64_t last_id, std::chrono::milliseconds patience,
                                           Watch watch);

// Sends the head, all after `last_id`, and the end. False: the client has gone before.
boost::asio::awaitable<bool> send_stream(http::Exchange& exchange, turns::TurnLog& log,
                                         std::int64_t last_id, TurnText text, Watch watch);

}  // namespace treaty::api
