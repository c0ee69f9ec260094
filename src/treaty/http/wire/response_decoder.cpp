#include "treaty/http/wire/response_decoder.h"

#include <fmt/format.h>
#include <zlib.h>

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

std::string_view response_text_of(string_view text) { return {text.data(), text.size()}; }

constexpr std::size_t kPiece = std::size_t{16} << 10U;
constexpr int kGzip = 15 + 16;
constexpr int kZlib = 15;
constexpr int kRaw = -15;

// RFC 1950 §2.2: what the first two bytes of a zlib stream add up to.
bool is_zlib_head(unsigned char first, unsigned char second) {
  return (first & 0x0FU) == 8 && ((unsigned{first} << 8U) | second) % 31 == 0;
}

// Undoes Content-Encoding piece by piece: gzip, deflate and identity, never more than one piece in
// memory.
class BodyCoding {
 public:
  // Takes decoded bytes; false ends the decoding.
  using Taker = std::function<bool(std::string_view)>;

  enum class Outcome { more, stopped, broken };

  // Null when the coding is not known.
  static std::unique_ptr<BodyCoding> named(std::string_view name) {
    name = trimmed(name);
    auto coding = std::make_unique<BodyCoding>();
    coding->is_identity_ = name.empty() || equal_folded(name, "identity");
    coding->is_gzip_ = equal_folded(name, "gzip") || equal_folded(name, "x-gzip");
    if (coding->is_gzip_ ? coding->open(kGzip)
                         : coding->is_identity_ || equal_folded(name, "deflate")) {
      return coding;
    }
    return nullptr;
  }

  BodyCoding() = default;
  BodyCoding(const BodyCoding&) = delete;
  BodyCoding& operator=(const BodyCoding&) = delete;
  ~BodyCoding() {
    if (is_open_) inflateEnd(&zlib_);
  }

  Outcome feed(std::string_view bytes, const Taker& taker);

  // True when what was fed may end here.
  bool is_whole() const { return is_identity_ || ended_ || (at_start_ && start_.empty()); }

 private:
  bool open(int window) {
    is_open_ = inflateInit2(&zlib_, window) == Z_OK;
    if (is_open_) out_ = std::make_unique_for_overwrite<char[]>(kPiece);
    return is_open_;
  }
  Outcome inflate_some(const Taker& taker);

  z_stream zlib_{};
  bool is_identity_ = false;
  bool is_gzip_ = false;
  bool is_open_ = false;           // inflateInit was called.
  bool at_start_ = true;           // No byte came yet, of the body or of the next gzip member.
  bool ended_ = false;             // The checksum was read and right.
  std::string start_{};            // The first bytes of deflate, until its form can be told.
  std::unique_ptr<char[]> out_{};  // kPiece bytes, once it is open.
};

BodyCoding::Outcome BodyCoding::feed(std::string_view bytes, const Taker& taker) {
  if (bytes.empty()) return Outcome::more;
  if (is_identity_) return taker(bytes) ? Outcome::more : Outcome::stopped;
  if (!is_open_) {
    // "deflate" means the zlib form; some send the raw one. Two bytes tell which it is.
    start_.append(bytes);
    if (start_.size() < 2) return Outcome::more;
    const bool is_zlib =
        is_zlib_head(static_cast<unsigned char>(start_[0]), static_cast<unsigned char>(start_[1]));
    if (!open(is_zlib ? kZlib : kRaw)) return Outcome::broken;
    bytes = start_;
  }
  zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  zlib_.avail_in = static_cast<uInt>(bytes.size());
  return inflate_some(taker);
}

BodyCoding::Outcome BodyCoding::inflate_some(const Taker& taker) {
  while (true) {
    if (ended_) {
      if (zlib_.avail_in == 0) return Outcome::more;
      // RFC 1952 §2.2: a file may have several members. After deflate nothing may follow.
      if (!is_gzip_ || inflateReset(&zlib_) != Z_OK) return Outcome::broken;
      ended_ = false;
    }
    at_start_ = false;
    zlib_.next_out = reinterpret_cast<Bytef*>(out_.get());
    zlib_.avail_out = kPiece;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    const std::size_t size = kPiece - zlib_.avail_out;
    if (size > 0 && !taker({out_.get(), size})) return Outcome::stopped;
    ended_ = result == Z_STREAM_END;
    if (ended_) continue;
    if (result == Z_BUF_ERROR || (result == Z_OK && zlib_.avail_out > 0)) {
      return Outcome::more;  // All input is used.
    }
    if (result != Z_OK) return Outcome::broken;
  }
}

}  // namespace

// Hands the body on as Beast's parser finds it.
class ResponseDecoder::Parser final : public beast_http::basic_parser<false> {
 public:
  Parser(ResponseSink& sink, const FetchOptions& options, bool to_head)
      : sink_(sink), room_(options.max_body_bytes) {
    skip(to_head);  // Not eager: head, lines of chunks and bodies are taken one at a time.
    header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(options.max_header_bytes + 4, std::size_t{1} << 30U)));
    body_limit(boost::none);
  }

  const Response& head() const { return head_; }
  void set_coding(std::unique_ptr<BodyCoding> coding) { coding_ = std::move(coding); }
  bool coding_is_whole() const { return !coding_ || coding_->is_whole(); }
  bool has_enough() const { return has_enough_; }
  bool too_large() const { return too_large_; }
  bool is_broken() const { return is_broken_; }
  bool is_between_chunks() const { return chunked() && chunk_left_ == 0; }
  bool is_after_chunk() const { return after_chunk_; }

 private:
  void on_request_impl(beast_http::verb /*verb*/, string_view /*method*/, string_view /*target*/,
                       int /*version*/, error_code& /*error*/) override {}
  void on_response_impl(int code, string_view /*reason*/, int /*version*/,
                        error_code& /*error*/) override {
    head_.status = code;
  }
  void on_field_impl(beast_http::field /*field*/, string_view name, string_view value,
                     error_code& /*error*/) override {
    if (!is_header_done())
      head_.headers.add(response_text_of(name), response_text_of(value));  // No trailers.
  }
  void on_header_impl(error_code& /*error*/) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*size*/,
                         error_code& /*error*/) override {}
  std::size_t on_body_impl(string_view body, error_code& error) override {
    const auto outcome = coding_->feed(response_text_of(body),
                                       [this](std::string_view bytes) { return take(bytes); });
    is_broken_ = outcome == BodyCoding::Outcome::broken;
    if (outcome != BodyCoding::Outcome::more) error = beast_http::error::need_buffer;
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t size, string_view /*extensions*/,
                            error_code& /*error*/) override {
    chunk_left_ = size;
    after_chunk_ = true;
  }
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view body,
                                 error_code& error) override {
    chunk_left_ = remain - body.size();
    return on_body_impl(body, error);
  }
  void on_finish_impl(error_code& /*error*/) override {}

  bool take(std::string_view bytes) {
    too_large_ = bytes.size() > room_;
    const std::string_view allowed = bytes.substr(0, room_);
    room_ -= allowed.size();
    has_enough_ = !allowed.empty() && !sink_.on_body(allowed);
    return !too_large_ && !has_enough_;
  }

  ResponseSink& sink_;
  Response head_{.status = 0};
  std::unique_ptr<BodyCoding> coding_{};
  std::size_t room_;
  std::uint64_t chunk_left_ = 0;
  bool after_chunk_ = false;
  bool has_enough_ = false;
  bool too_large_ = false;
  bool is_broken_ = false;
};

ResponseDecoder::ResponseDecoder(ResponseSink& sink, const FetchOptions& options, bool to_head)
    : sink_(sink), options_(options), to_head_(to_head) {}
ResponseDecoder::~ResponseDecoder() = default;

std::expected<bool, FetchFailure> ResponseDecoder::feed(std::string_view bytes) {
  return has_head_ ? feed_body(bytes) : feed_head(bytes);
}

std::expected<bool, FetchFailure> ResponseDecoder::feed_head(std::string_view bytes) {
  std::string joined;
  if (!carried_.empty()) {
    joined.swap(carried_);
    joined.append(bytes);
    bytes = joined;
  }
  while (!has_head_) {
    const std::size_t end = find_head_end(bytes, searched_);
    const std::string_view head = bytes.substr(0, end);
    // What comes first in the bytes is told, whether or not the rest came with it.
    const std::size_t room = options_.max_header_bytes - head_bytes_;
    if (has_bare_line_feed(head.substr(0, room), searched_)) {
      return fail(FailureKind::malformed, "the answer is not HTTP: a line ends in half a line end");
    }
    if (head.size() > room) {
      return fail(FailureKind::too_large,
                  fmt::format("the header of the answer is larger than {} bytes",
                              options_.max_header_bytes));
    }
    if (end == std::string_view::npos) {
      searched_ = bytes.size();
      carried_ = bytes;
      return false;
    }
    searched_ = 0;
    head_bytes_ += head.size();
    const auto read = read_head(head);
    if (!read) return read;
    bytes.remove_prefix(end);
    if (*read) return end_body(bytes.size());
  }
  return bytes.empty() ? std::expected<bool, FetchFailure>(false) : feed_body(bytes);
}

// True when the answer is nothing but its head.
std::expected<bool, FetchFailure> ResponseDecoder::read_head(std::string_view head) {
  if (const auto fault = find_head_fault(head, HeadKind::response); !fault.empty()) {
    return fail(FailureKind::malformed, fmt::format("the answer is not HTTP: {}", fault));
  }
  parser_ = std::make_unique<Parser>(sink_, options_, to_head_);
  error_code error;
  parser_->put(boost::asio::buffer(head.data(), head.size()), error);
  if ((error && error != beast_http::error::need_more) || !parser_->is_header_done()) {
    return fail(FailureKind::malformed,
                fmt::format("the header of the answer cannot be read: {}", error.message()));
  }
  const Response& answer = parser_->head();
  if (answer.status == 101) {
    return fail(FailureKind::malformed, "the server changed the protocol without being asked");
  }
  if (answer.status < 200) return false;  // An interim answer: the next head counts.
  has_head_ = true;
  if (!parser_->is_done()) {
    auto coding = BodyCoding::named(answer.headers.get("content-encoding"));
    if (!coding) {
      return fail(FailureKind::malformed,
                  "the answer's Content-Encoding is none that was asked for (gzip, deflate)");
    }
    parser_->set_coding(std::move(coding));
  }
  sink_.on_head(answer);
  return parser_->is_done();
}

std::expected<bool, FetchFailure> ResponseDecoder::feed_body(std::string_view bytes) {
  std::string joined;
  if (!carried_.empty()) {
    joined.swap(carried_);
    joined.append(bytes);
    bytes = joined;
  }
  error_code error;
  while (!bytes.empty() && !error && !parser_->is_done()) {
    std::string_view piece = bytes;
    if (parser_->is_between_chunks()) {
      const std::size_t size = chunk_line_size(bytes, parser_->is_after_chunk());
      if (std::min(size, bytes.size()) > options_.max_header_bytes) {
        return fail(FailureKind::too_large, "the line of a chunk, or the trailer, is too long");
      }
      if (size == std::string_view::npos) break;
      piece = bytes.substr(0, size);
    }
    bytes.remove_prefix(parser_->put(boost::asio::buffer(piece.data(), piece.size()), error));
  }
  if (parser_->has_enough()) return true;
  if (parser_->too_large()) {
    return fail(FailureKind::too_large,
                fmt::format("the answer is larger than {} bytes", options_.max_body_bytes));
  }
  if (parser_->is_broken()) {
    return fail(FailureKind::malformed, "the compressed answer cannot be unpacked");
  }
  if (error) {
    return fail(FailureKind::malformed,
                fmt::format("the chunks of the answer cannot be read: {}", error.message()));
  }
  if (parser_->is_done()) return end_body(bytes.size());
  carried_ = bytes;
  return false;
}

std::expected<bool, FetchFailure> ResponseDecoder::end_body(std::size_t left_over) {
  if (!parser_->coding_is_whole()) {
    return fail(FailureKind::malformed, "the compressed answer is cut before its end");
  }
  keeps_alive_ = left_over == 0 && parser_->keep_alive();
  return true;
}

std::expected<void, FetchFailure> ResponseDecoder::finish() {
  if (!has_head_) {
    return fail(FailureKind::reset, carried_.empty() && head_bytes_ == 0
                                        ? "the connection was closed without an answer"
                                        : "the connection was closed within the answer's header");
  }
  error_code error;
  if (!parser_->is_done()) parser_->put_eof(error);
  if (error) {
    return fail(FailureKind::reset, "the connection was closed before the answer was whole");
  }
  if (!parser_->coding_is_whole()) {
    return fail(FailureKind::malformed, "the compressed answer is cut before its end");
  }
  return {};
}

}  // namespace treaty::http
