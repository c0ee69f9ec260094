// HTTP answers as tests look at them: the bytes that a server sent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "treaty/testing/loopback.h"

namespace treaty::testing {

inline const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

// A handler that answers with method, target and body.
inline boost::asio::awaitable<void> echo(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  co_await exchange.respond({.body = request.method + " " + request.target + " " + request.body});
}

// Everything that comes back for `bytes`, on a connection of their own.
inline std::string answer_to(const ServerThread& server, std::string_view bytes) {
  Peer peer = Peer::connect(server.port());
  peer.send(bytes);
  peer.end_sending();
  return peer.read_all();
}

inline std::string status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? answer.substr(9, 3) : answer;
}

inline std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

inline std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace treaty::testing
