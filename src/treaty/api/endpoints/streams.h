// Following a turn: what its log says goes to the client as it comes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>

#include "treaty/api/stream_text.h"
#include "treaty/http/server.h"
#include "treaty/turns/turn_log.h"

namespace treaty::api {

enum class News {
  some,     // There may be something new in the log.
  none,     // Patience ran out.
  is_gone,  // The client is.
};

// Whether a disconnect of the client is noticed while nothing is written to it. With `no` it is
// noticed when a write fails.
enum class Watch { no, yes };

boost::asio::awaitable<News> wait_for_news(http::Exchange& exchange, turns::TurnLog& log,
                                           std::int64_t last_id, std::chrono::milliseconds patience,
                                           Watch watch);

// Sends the head, all after `last_id`, and the end. False: the client has gone before.
boost::asio::awaitable<bool> send_stream(http::Exchange& exchange, turns::TurnLog& log,
                                         std::int64_t last_id, TurnText text, Watch watch);

}  // namespace treaty::api
