// Turns the bytes of a connection into requests, strictly, without a socket.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "treaty/http/message.h"
#include "treaty/http/wire/body_memory.h"

namespace treaty::http {

struct RequestLimits {
  std::size_t max_header_bytes;
  std::size_t max_body_bytes;
  BodyMemory* body_memory =
      nullptr;  // Shared with other requests; none: only this one's size counts.
  std::size_t max_body_memory = 0;
};

// Why a request is not taken: what to answer before the connection closes.
struct Refusal {
  int status = 0;  // 0: not refused.
  std::string message{};
};

// One decoder per request.
class RequestDecoder {
 public:
  explicit RequestDecoder(RequestLimits limits);
  ~RequestDecoder();
  RequestDecoder(const RequestDecoder&) = delete;
  RequestDecoder& operator=(const RequestDecoder&) = delete;

  // Takes from the start of `bytes` and answers how much it took. What it leaves must come again in
  // front of what follows, or belongs to the next request when this one is done.
  std::size_t feed(std::string_view bytes);

  bool has_head() const { return has_head_; }
  bool done() const { return done_; }
  const Refusal& refusal() const { return refusal_; }

  // After has_head():
  bool keeps_alive() const { return keeps_alive_; }
  bool is_1_1() const { return is_1_1_; }
  bool expects_continue() const { return expects_continue_; }

  // After has_head() without its body; whole after done().
  Request& request() { return request_; }

  // What the body has of the memory that all bodies share; to be kept as long as the body.
  BodyShare take_share() { return std::move(share_); }

 private:
  class Parser;
  std::size_t feed_head(std::string_view bytes);
  std::size_t feed_body(std::string_view bytes);
  void on_head();
  void take_authority();
  void refuse(int status, std::string_view message);

  RequestLimits limits_;
  std::unique_ptr<Parser> parser_;
  Request request_{};
  BodyShare share_;
  Refusal refusal_{};
  std::size_t searched_ = 0;  // How much of the head was looked at for its end.
  bool has_head_ = false;
  bool done_ = false;
  bool keeps_alive_ = false;
  bool is_1_1_ = false;
  bool expects_continue_ = false;
};

}  // namespace treaty::http
