// A plan: one answer as timed pieces of bytes, and how it ends. Deciding makes plans and is pure;
// the player executes them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "treaty/backends/scripted/script.h"
#include "treaty/base/headers.h"
#include "treaty/mock/scripted_answer.h"

namespace treaty::mock {

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

}  // namespace treaty::mock
