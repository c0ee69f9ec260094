// Reads the body of a provider's answer as it comes and makes the AgentResult at its end: an error
// body, a plain answer or a stream, told apart by the status and the first byte
// (lines of JSON by their content type).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/backends/protocols/stream_parser.h"
#include "treaty/results/agent_results.h"

namespace treaty::backends {

class AnswerReader {
 public:
  // `largest`: bytes of the answer, without what frames a stream. A larger one is an error.
  AnswerReader(const Protocol& protocol, int status, const Headers& headers,
               std::size_t largest = StreamParser::kNoLimit);

  // The text that these bytes added to the answer; valid until the next call.
  std::string_view feed(std::string_view bytes);

  // What they added to the thoughts that people may read; of a plain answer all of it, after
  // finish(). Valid until the next call.
  std::string_view thinking() const {
    return form_ == Form::stream ? stream_.thinking() : plain_thinking_;
  }

  // How many pieces of an answer have come. Comments, pings and white space are none; a plain
  // answer is one.
  std::size_t pieces() const { return stream_.pieces() + (form_ == Form::plain ? 1 : 0); }

  // What has come is enough for a result: a stream has said how the answer ended, or the status
  // alone says how it failed. Usage, the last event, or the body of the failure may follow.
  bool is_whole() const { return status_decides_ || stream_.is_whole(); }

  // Bytes of a streamed answer so far; before finish().
  std::size_t bytes() const { return stream_.bytes(); }

  // A stream came to its last event: what may follow does not matter.
  bool has_ended() const { return stream_.has_ended(); }

  // Reading on is a waste: an error is told, or the answer is beyond repair.
  bool is_hopeless() const;

  // `exchange` has the status and the headers that the reader was made with.
  contracts::AgentResult finish(const results::Exchange& exchange);

  // The text of a successful answer that feed() has not given, after finish().
  std::string_view last_text(const contracts::AgentResult& result) const;

  // Those of the answer, after finish().
  std::vector<results::Thought> take_thoughts() { return std::move(thoughts_); }

 private:
  enum class Form { unknown, failure, plain, stream };

  Form form_of_first_byte(char first) const;
  bool tell_form(std::string_view bytes);

  const Protocol& protocol_;
  const std::size_t largest_;
  Form form_ = Form::unknown;
  bool in_lines_ = false;  // Lines of JSON, by the content type.
  bool status_decides_ = false;
  bool over_ = false;  // The body is larger than what is worth reading, or allowed.
  bool gave_text_ = false;
  StreamParser stream_;
  std::string body_{};  // Empty for a stream.
  std::string plain_thinking_{};
  std::vector<results::Thought> thoughts_{};
};

}  // namespace treaty::backends
