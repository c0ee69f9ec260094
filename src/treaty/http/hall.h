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

class Session;

class Hall {
 public:
  Hall(Handler the_handler, ServerOptions the_options)
      : handler(std::move(the_handler)),
        options(std::move(the_options)),
        occupancy(options.occupancy ? options.occupancy : std::make_shared<Occupancy>()) {}

  Handler handler;
  ServerOptions options;
  const std::shared_ptr<Occupancy> occupancy;
  std::vector<Session*> sessions{};  // Each knows its place.
  bool stopping = false;

  // Used by one session at a time, never across a wait: a session that waits holds no buffer.
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
