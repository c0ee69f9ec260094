// What the connections of one server share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/http/server.h"

namespace treaty::http {

class ServerConnection;

class ServerState {
 public:
  ServerState(Handler the_handler, ServerOptions the_options)
      : handler(std::move(the_handler)),
        options(std::move(the_options)),
        load(options.load ? options.load : std::make_shared<ServerLoad>()) {}

  Handler handler;
  ServerOptions options;
  const std::shared_ptr<ServerLoad> load;
  std::vector<ServerConnection*> connections{};  // Each knows its place.
  bool stopping = false;

  // Used by one connection at a time, never across a wait: a connection that waits holds no buffer.
  std::vector<char> scratch = std::vector<char>(std::size_t{64} << 10U);
  std::string out{};

  // The value of Date, made once a second.
  std::string_view date();

  Response refusal(int status, std::string_view message) const;

 private:
  std::int64_t date_second_ = -1;
  std::string date_{};
};

}  // namespace treaty::http
