// Reads a streamed answer as its bytes come, whatever way they were cut, into the same Answer that
// an unstreamed one would have given.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "treaty/backends/protocols/protocol.h"
#include "treaty/http/event_stream.h"

namespace treaty::backends {

class StreamParser {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // `largest`: bytes of the answer; its framing does not count.
  explicit StreamParser(const Protocol& protocol, std::size_t largest = kNoLimit)
      : protocol_(protocol), largest_(largest) {}

  // The text that these bytes added to the content; valid until the next call.
  std::string_view feed(std::string_view bytes);

  // What the last feed() added to the thoughts that people can read; valid until the next call.
  std::string_view thinking() const;

  // How many events so far were pieces of the answer: text, reasoning, calls, their arguments.
  // Comments, pings and events that only frame the answer are none.
  std::size_t pieces() const { return pieces_; }

  // Bytes of text, reasoning and calls so far.
  std::size_t bytes() const;

  // The answer is complete; more about it may follow.
  bool is_whole() const { return state_.answer.complete && !is_hopeless(); }

  // The last event came.
  bool has_ended() const { return state_.ended; }

  // The answer reported an error or is beyond repair: reading on is a waste.
  bool is_hopeless() const;

  bool is_too_large() const { return is_too_large_; }

  // After the last byte. Incomplete when the terminal marker never came.
  results::Answer finish();

  // The text that finish() added to the content.
  const std::string& last_text() const { return last_text_; }

 private:
  bool is_over() const { return state_.ended || is_hopeless(); }
  void take(std::string_view name, std::string_view data);
  void feed_lines(std::string_view bytes);
  void check_size(std::size_t more);

  const Protocol& protocol_;
  const std::size_t largest_;
  StreamedAnswer state_{};
  http::EventStreamReader events_{};
  std::string line_{};  // json_lines: the part of a line that came.
  std::string last_text_{};
  std::size_t pieces_ = 0;
  std::size_t unchecked_ = 0;  // Bytes that came since the answer was last measured.
  bool is_too_large_ = false;
  std::size_t thinking_begin_ = 0;  // Where in the thinking that of the last feed() begins.
};

}  // namespace treaty::backends
