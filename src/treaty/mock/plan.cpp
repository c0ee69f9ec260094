#include "treaty/mock/plan.h"

#include <algorithm>

namespace treaty::mock {
namespace {

constexpr std::size_t kEndlessSpaces = 4096;

void note(Plan& plan, std::string_view word) {
  if (!plan.note.empty()) plan.note += ", ";
  plan.note += word;
}

// Keeps the first `bytes` of the body. The pieces after them go.
void truncate(Plan& plan, std::size_t bytes) {
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
    std::string& piece = plan.pieces[i].bytes;
    if (piece.size() >= bytes) {
      piece.resize(bytes);
      plan.pieces.resize(i + 1);
      return;
    }
    bytes -= piece.size();
  }
}

// A chunk whose size is no number, in the middle of the body; nobody can read on after it.
void break_framing(Plan& plan) {
  plan.streamed = true;
  truncate(plan, plan.body_size() / 2);
  plan.pieces.push_back({.bytes = "zz\r\nthis is no chunk\r\n", .is_raw = true});
  plan.ending = Ending::cut;
  note(plan, "malformed chunk");
}

// JSON that stops in the middle: of one event in a stream, else of the whole body.
void break_json(Plan& plan) {
  Piece& piece = plan.pieces[plan.pieces.size() / 2];
  const std::size_t end = piece.bytes.find_last_not_of("\r\n");
  const std::string blank_line = plan.streamed ? piece.bytes.substr(end + 1) : "";
  piece.bytes.resize(piece.bytes.size() / 2);
  piece.bytes += blank_line;
  note(plan, "malformed JSON");
}

void add_garbage(Plan& plan, const backends::Garbage& garbage, Ids& ids) {
  truncate(plan, garbage.after);
  plan.pieces.push_back({.bytes = ids.bytes(garbage.bytes)});
  note(plan, "garbage");
}

void make_endless(Plan& plan, const std::vector<backends::StreamFrame>& frames,
                  std::chrono::milliseconds chunk_delay) {
  const auto last =
      std::ranges::find_if(frames.rbegin(), frames.rend(), &backends::StreamFrame::is_text);
  if (last != frames.rend() && plan.streamed) {
    plan.pieces.resize(static_cast<std::size_t>(frames.rend() - last));
    plan.endless = {.delay = chunk_delay, .bytes = last->bytes};
  } else {  // JSON allows any white space before its last brace.
    truncate(plan, plan.body_size() - std::min<std::size_t>(plan.body_size(), 1));
    plan.endless = {.delay = chunk_delay, .bytes = std::string(kEndlessSpaces, ' ')};
  }
  plan.streamed = true;
  note(plan, "endless");
}

void resize_pieces(Plan& plan, std::size_t size, std::chrono::milliseconds chunk_delay) {
  std::vector<Piece> pieces;
  std::string body;
  const auto flush = [&] {
    for (std::size_t at = 0; at < body.size(); at += size) {
      pieces.push_back({.delay = pieces.empty() ? std::chrono::milliseconds(0) : chunk_delay,
                        .bytes = body.substr(at, size)});
    }
    body.clear();
  };
  for (Piece& piece : plan.pieces) {
    if (piece.is_raw) {
      flush();
      pieces.push_back(std::move(piece));
    } else {
      body += piece.bytes;
    }
  }
  flush();
  plan.pieces = std::move(pieces);
  plan.streamed = true;
}

void end_early(Plan& plan, const backends::Point& point, Ending ending, std::string_view word) {
  plan.ending = ending;
  plan.ends_before_head = point.before_head;
  plan.endless = {};
  plan.streamed = true;
  truncate(plan, point.body_bytes);
  note(plan, word);
}

}  // namespace

std::string Ids::next(std::string_view prefix, std::size_t length) {
  constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id(prefix);
  while (id.size() < prefix.size() + length) id += kLetters[random_() % kLetters.size()];
  return id;
}

std::string Ids::bytes(std::size_t length) {
  std::string out;
  out.reserve(length);
  while (out.size() < length) out += static_cast<char>(random_());
  return out;
}

std::size_t Plan::body_size() const {
  std::size_t size = 0;
  for (const Piece& piece : pieces) size += piece.bytes.size();
  return size;
}

Plan make_plan(Whole whole, const backends::Reply& reply, Ids& ids) {
  Plan plan{.status = whole.status,
            .headers = std::move(whole.headers),
            .streamed = whole.streamed,
            .delay = reply.delay};
  if (plan.streamed) note(plan, "stream");
  for (const backends::StreamFrame& frame : whole.frames) {
    plan.pieces.push_back(
        {.delay = plan.pieces.empty() ? std::chrono::milliseconds(0) : reply.chunk_delay,
         .bytes = frame.bytes});
  }
  const backends::Faults& faults = reply.faults;
  if (faults.malformed == backends::Malformed::json && !plan.pieces.empty()) break_json(plan);
  if (faults.garbage) add_garbage(plan, *faults.garbage, ids);
  if (faults.endless) make_endless(plan, whole.frames, reply.chunk_delay);
  if (faults.malformed == backends::Malformed::framing) break_framing(plan);
  if (reply.chunk_size > 0) resize_pieces(plan, reply.chunk_size, reply.chunk_delay);
  if (faults.cut) end_early(plan, *faults.cut, Ending::cut, "cut");
  if (faults.reset) end_early(plan, *faults.reset, Ending::reset, "reset");
  if (faults.stall) end_early(plan, *faults.stall, Ending::stall, "stall");
  return plan;
}

}  // namespace treaty::mock
