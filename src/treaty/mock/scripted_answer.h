// Turns a script's reply into an answer that a protocol can write: everything is decided that a
// script may leave open, such as ids, usage and the pieces of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/scripted/script.h"

namespace treaty::mock {

// Identifiers as providers make them. The same seed gives the same ones.
class Ids {
 public:
  explicit Ids(std::uint64_t seed) : random_(seed) {}

  std::string next(std::string_view prefix, std::size_t length);
  std::string bytes(std::size_t length);  // Any bytes, for garbage.

 private:
  std::mt19937_64 random_;
};

// `prompt_bytes` is what tokens of the input are estimated from, `now` in seconds since 1970.
backends::OutgoingAnswer scripted_answer(const backends::Reply& reply,
                                         const backends::ReceivedRequest& request,
                                         std::size_t prompt_bytes,
                                         const backends::Protocol& protocol, std::int64_t now,
                                         Ids& ids);

backends::OutgoingError scripted_error(const backends::ScriptedError& error,
                                       const backends::Protocol& protocol, std::string_view model,
                                       std::string request_id);

}  // namespace treaty::mock
