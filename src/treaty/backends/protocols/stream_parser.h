// Reads a streamed answer as its bytes come, whatever way they were cut, into the same Answer that
// an unstreamed one would have given.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/http/event_stream.h"

namespace treaty::backends {

class StreamParser {
 public:
  explicit StreamParser(const Protocol& protocol) : protocol_(protocol) {}

  // The text that these bytes added to the content; valid until the next call.
  std::string_view feed(std::string_view bytes);

  // What the last feed() added to the thoughts that people can read; valid until the next call.
  std::string_view thinking() const;

  // How many events so far were pieces of the answer: text, reasoning, calls, their arguments.
  // Comments, pings and events that only frame the answer are none.
  std::size_t pieces() const { return pieces_; }

  // The answer is complete; more about it may follow.
  bool is_whole() const { return state_.answer.complete && !is_hopeless(); }

  // The last event came.
  bool has_ended() const { return state_.ended; }

  // The answer told an error or is beyond repair: reading on is a waste.
  bool is_hopeless() const;

  // After the last byte. Incomplete when the terminal marker never came.
  results::Answer finish();

 private:
  bool is_over() const { return state_.ended || is_hopeless(); }
  void take(std::string_view name, std::string_view data);
  void feed_lines(std::string_view bytes);

  const Protocol& protocol_;
  StreamedAnswer state_{};
  http::EventStreamReader events_{};
  std::string line_{};  // json_lines: the part of a line that came.
  std::size_t pieces_ = 0;
  std::size_t thinking_begin_ = 0;  // Where in the thinking that of the last feed() begins.
};

}  // namespace treaty::backends
