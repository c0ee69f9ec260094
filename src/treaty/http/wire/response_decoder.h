// Turns the bytes of a connection into one answer, without a socket: head, framing, coding, limits.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "treaty/http/client.h"

namespace treaty::http {

// One decoder per answer. Whatever way the bytes are cut, the sink is told the same.
class ResponseDecoder {
 public:
  // `to_head`: the answer to a HEAD request has no body.
  ResponseDecoder(ResponseSink& sink, const FetchOptions& options, bool to_head);
  ~ResponseDecoder();
  ResponseDecoder(const ResponseDecoder&) = delete;
  ResponseDecoder& operator=(const ResponseDecoder&) = delete;

  // True when the answer is whole, or the sink has enough: feed no more. After a failure, too.
  std::expected<bool, FetchFailure> feed(std::string_view bytes);

  // The connection was closed: fine for an answer without a length, else it is cut.
  std::expected<void, FetchFailure> finish();

  bool has_head() const { return has_head_; }

  // The connection can carry another request: the answer is whole and nothing follows it.
  bool keeps_alive() const { return keeps_alive_; }

 private:
  class Parser;
  std::expected<bool, FetchFailure> feed_head(std::string_view bytes);
  std::expected<bool, FetchFailure> read_head(std::string_view head);
  std::expected<bool, FetchFailure> feed_body(std::string_view bytes);
  std::expected<bool, FetchFailure> end_body(std::size_t left_over);

  ResponseSink& sink_;
  FetchOptions options_;
  bool to_head_;
  std::unique_ptr<Parser> parser_;
  std::string carried_{};       // A head or the line of a chunk that is not whole yet.
  std::size_t searched_ = 0;    // How much of a carried head was looked at.
  std::size_t head_bytes_ = 0;  // Of interim answers, too: they are not a way around the limit.
  bool has_head_ = false;
  bool keeps_alive_ = false;
};

}  // namespace treaty::http
