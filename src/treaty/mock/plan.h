// A plan: one answer as timed pieces of bytes, and how it ends. Deciding makes plans and is pure;
// the player executes them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/backends/scripted/script.h"
#include "treaty/base/headers.h"
#include "treaty/http/server.h"

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

struct Piece {
  std::chrono::milliseconds delay{0};  // Before it.
  std::string bytes{};
  bool is_raw = false;  // Outside the framing of chunks.
};

enum class Ending { whole, cut, reset, stall };

struct Plan {
  int status = 200;
  Headers headers{};
  bool streamed = false;               // In pieces; else one body with its length.
  std::chrono::milliseconds delay{0};  // Before the first byte.
  std::vector<Piece> pieces{};
  Piece endless{};  // Comes again and again after the pieces, unless it is empty.
  Ending ending = Ending::whole;
  bool ends_before_head = false;
  std::string note{};  // For the log: stream, the fault.

  std::size_t body_size() const;
};

// An answer before anything goes wrong with it.
struct Whole {
  int status = 200;
  Headers headers{};
  bool streamed = false;
  std::vector<backends::StreamFrame> frames{};
};

// Applies the delays and faults of `reply`, in this order: a chunk that makes no sense, garbage,
// no end, other sizes of pieces, an end too early.
Plan make_plan(Whole whole, const backends::Reply& reply, Ids& ids);

// Plays a plan to whoever asked. Returns when the answer is over or the client has gone.
boost::asio::awaitable<void> play(Plan plan, http::Exchange& exchange);

}  // namespace treaty::mock
