#include "treaty/http/wire/request_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "treaty/base/text.h"
#include "treaty/http/wire/message_head.h"

namespace treaty::http {
namespace {

namespace beast_http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::string_view kNoMemory =
    "the server holds as many large requests as it can; try again later";

std::string_view text_of(string_view text) { return {text.data(), text.size()}; }

}  // namespace

// Fills in the request as Beast's parser walks over it.
class RequestDecoder::Parser final : public beast_http::basic_parser<true> {
 public:
  Parser(Request& request, BodyShare& share, RequestLimits limits)
      : request_(request), share_(share), limits_(limits), longest_(limits.max_body_bytes) {
    header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.max_header_bytes + 4, std::size_t{1} << 30U)));
    body_limit(boost::none);
  }

  bool too_large() const { return too_large_; }
  bool lacks_memory() const { return lacks_memory_; }
  bool is_1_1() const { return is_1_1_; }
  bool is_between_chunks() const { return chunked() && chunk_left_ == 0; }
  bool is_after_chunk() const { return after_chunk_; }

 private:
  void on_request_impl(beast_http::verb /*verb*/, string_view method, string_view target,
                       int version, error_code& /*error*/) override {
    is_1_1_ = version == 11;
    request_.method = text_of(method);
    request_.target = text_of(target);
  }
  void on_response_impl(int /*code*/, string_view /*reason*/, int /*version*/,
                        error_code& /*error*/) override {}
  void on_field_impl(beast_http::field /*field*/, string_view name, string_view value,
                     error_code& /*error*/) override {
    if (!is_header_done()) request_.headers.add(text_of(name), text_of(value));
  }
  void on_header_impl(error_code& /*error*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& size, error_code& error) override {
    if (size && *size > limits_.max_body_bytes) return refuse_size(error);
    if (!size) return;
    longest_ = *size;
    request_.body.reserve(std::min(longest_, kUncountedBody));
  }
  std::size_t on_body_impl(string_view body, error_code& error) override {
    if (body.size() > limits_.max_body_bytes - request_.body.size()) {
      refuse_size(error);
      return 0;
    }
    if (!has_room(request_.body.size() + body.size())) {
      lacks_memory_ = true;
      error = beast_http::error::body_limit;
      return 0;
    }
    request_.body.append(text_of(body));
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t size, string_view /*extensions*/,
                            error_code& error) override {
    chunk_left_ = size;
    after_chunk_ = true;
    if (size > limits_.max_body_bytes - request_.body.size()) refuse_size(error);
  }
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view body,
                                 error_code& error) override {
    chunk_left_ = remain - body.size();
    return on_body_impl(body, error);
  }
  void on_finish_impl(error_code& /*error*/) override {}

  // Counts ahead of what comes, in steps that double, as the body's own memory does.
  bool has_room(std::size_t size) {
    if (size <= counted_) return true;
    counted_ = std::max(size, std::min(2 * counted_, longest_));
    return share_.grow_to(counted_);
  }

  void refuse_size(error_code& error) {
    too_large_ = true;
    error = beast_http::error::body_limit;
  }

  Request& request_;
  BodyShare& share_;
  RequestLimits limits_;
  std::size_t longest_;  // As far as is known.
  std::size_t counted_ = kUncountedBody;
  bool too_large_ = false;
  bool lacks_memory_ = false;
  std::uint64_t chunk_left_ = 0;
  bool after_chunk_ = false;
  bool is_1_1_ = false;
};

RequestDecoder::RequestDecoder(RequestLimits limits)
    : limits_(limits), share_(limits.body_memory, limits.max_body_memory) {}
RequestDecoder::~RequestDecoder() = default;

void RequestDecoder::refuse(int status, std::string_view message) {
  refusal_ = {.status = status, .message = std::string(message)};
}

std::size_t RequestDecoder::feed(std::string_view bytes) {
  std::size_t taken = 0;
  if (!has_head_ && refusal_.status == 0) taken = feed_head(bytes);
  if (has_head_ && !done_ && refusal_.status == 0) taken += feed_body(bytes.substr(taken));
  return taken;
}

std::size_t RequestDecoder::feed_head(std::string_view bytes) {
  std::size_t skipped = 0;  // RFC 9112 §2.2: empty lines before a request are passed over.
  while (bytes.substr(skipped).starts_with("\r\n")) skipped += 2;
  const std::string_view head = bytes.substr(skipped);
  if (skipped > 0) searched_ = 0;
  const std::size_t end = find_head_end(head, searched_);
  const std::string_view seen = head.substr(0, end);
  if (has_bare_line_feed(seen, searched_)) {
    refuse(400, "a line ends without its carriage return");
  } else if (seen.size() > limits_.max_header_bytes) {
    refuse(431, fmt::format("the header is larger than {} bytes", limits_.max_header_bytes));
  } else if (end == std::string_view::npos) {
    searched_ = head.size();
  } else if (const auto fault = find_head_fault(seen, HeadKind::request); !fault.empty()) {
    refuse(400, fault);
  } else {
    parser_ = std::make_unique<Parser>(request_, share_, limits_);
    error_code error;
    parser_->put(boost::asio::buffer(seen.data(), seen.size()), error);
    if (error && error != beast_http::error::need_more) refuse(400, error.message());
    if (refusal_.status == 0) on_head();
    return skipped + end;
  }
  return skipped;
}

void RequestDecoder::on_head() {
  if (!parser_->is_header_done()) return refuse(400, "the header cannot be read");
  has_head_ = true;
  done_ = parser_->is_done();
  keeps_alive_ = parser_->keep_alive();
  is_1_1_ = parser_->is_1_1();
  const std::string_view expectation = request_.headers.get("expect");
  take_authority();
  const std::size_t length = parser_->content_length().value_or(0);
  if (length > limits_.max_body_bytes) {
    return refuse(413, fmt::format("the body is larger than {} bytes", limits_.max_body_bytes));
  }
  if (!share_.has_room(length)) return refuse(503, kNoMemory);
  if (expectation.empty() || !is_1_1_) return;
  expects_continue_ = equal_folded(expectation, "100-continue");
  if (!expects_continue_) refuse(417, "the only expectation that is met is 100-continue");
}

// RFC 9112 §3.2.2: who writes the whole address means its host, whatever Host says.
void RequestDecoder::take_authority() {
  std::string& target = request_.target;
  const std::string authority(authority_of_target(target));
  if (authority.empty()) return;
  target.erase(0, target.find("//") + 2 + authority.size());
  if (!target.starts_with('/')) target.insert(0, 1, '/');
  request_.headers.set("host", authority);
}

std::size_t RequestDecoder::feed_body(std::string_view bytes) {
  error_code error;
  std::string_view rest = bytes;
  while (!rest.empty() && !error && !parser_->is_done()) {
    std::string_view piece = rest;
    if (parser_->is_between_chunks()) {
      const std::size_t size = chunk_line_size(rest, parser_->is_after_chunk());
      if (std::min(size, rest.size()) > limits_.max_header_bytes) {
        refuse(431, "the line of a chunk, or the trailer, is too long");
        break;
      }
      if (size == std::string_view::npos) break;
      piece = rest.substr(0, size);
      if (const auto fault = find_chunk_fault(piece, parser_->is_after_chunk()); !fault.empty()) {
        refuse(400, fault);
        break;
      }
    }
    rest.remove_prefix(parser_->put(boost::asio::buffer(piece.data(), piece.size()), error));
  }
  if (refusal_.status != 0) return bytes.size() - rest.size();
  if (parser_->lacks_memory()) {
    refuse(503, kNoMemory);
  } else if (parser_->too_large()) {
    refuse(413, fmt::format("the body is larger than {} bytes", limits_.max_body_bytes));
  } else if (error) {
    refuse(400, fmt::format("the body cannot be read: {}", error.message()));
  }
  done_ = parser_->is_done();
  return bytes.size() - rest.size();
}

}  // namespace treaty::http
