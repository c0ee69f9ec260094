#include "treaty/http/wire/body_coding.h"

#include <zlib.h>

#include "treaty/base/text.h"

namespace treaty::http {
namespace {

constexpr std::size_t kPiece = std::size_t{16} << 10U;
constexpr int kGzip = 15 + 16;
constexpr int kZlib = 15;
constexpr int kRaw = -15;

// RFC 1950 §2.2: what the first two bytes of a zlib stream add up to.
bool is_zlib_head(unsigned char first, unsigned char second) {
  return (first & 0x0FU) == 8 && ((unsigned{first} << 8U) | second) % 31 == 0;
}

}  // namespace

struct BodyCoding::Stream {
  z_stream zlib{};
  bool is_gzip = false;
  bool is_open = false;  // inflateInit was called.
  bool at_start = true;  // No byte came yet, of the body or of the next gzip member.
  bool ended = false;    // The checksum was read and right.
  std::string start{};   // The first bytes of deflate, until its form can be told.
  std::array<char, kPiece> out;

  ~Stream() {
    if (is_open) inflateEnd(&zlib);
  }

  bool open(int window) {
    is_open = inflateInit2(&zlib, window) == Z_OK;
    return is_open;
  }

  void set_input(std::string_view bytes) {
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    zlib.avail_in = static_cast<uInt>(bytes.size());
  }
};

BodyCoding::BodyCoding(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
BodyCoding::~BodyCoding() = default;
BodyCoding::BodyCoding(BodyCoding&&) noexcept = default;
BodyCoding& BodyCoding::operator=(BodyCoding&&) noexcept = default;

std::optional<BodyCoding> BodyCoding::named(std::string_view name) {
  name = trimmed(name);
  if (name.empty() || equal_folded(name, "identity")) return BodyCoding(nullptr);
  const bool is_gzip = equal_folded(name, "gzip") || equal_folded(name, "x-gzip");
  if (!is_gzip && !equal_folded(name, "deflate")) return std::nullopt;
  auto stream = std::make_unique<Stream>();
  stream->is_gzip = is_gzip;
  if (is_gzip && !stream->open(kGzip)) return std::nullopt;
  return BodyCoding(std::move(stream));
}

BodyCoding::Outcome BodyCoding::feed(std::string_view bytes, const Taker& taker) {
  if (bytes.empty()) return Outcome::more;
  if (!stream_) return taker(bytes) ? Outcome::more : Outcome::stopped;
  Stream& stream = *stream_;
  if (!stream.is_open) {
    // "deflate" means the zlib form; some send the raw one. Two bytes tell which it is.
    stream.start.append(bytes);
    if (stream.start.size() < 2) return Outcome::more;
    const bool is_zlib = is_zlib_head(static_cast<unsigned char>(stream.start[0]),
                                      static_cast<unsigned char>(stream.start[1]));
    if (!stream.open(is_zlib ? kZlib : kRaw)) return Outcome::broken;
    bytes = stream.start;
  }
  stream.set_input(bytes);
  return inflate_some(taker);
}

BodyCoding::Outcome BodyCoding::inflate_some(const Taker& taker) {
  Stream& stream = *stream_;
  while (true) {
    if (stream.ended) {
      if (stream.zlib.avail_in == 0) return Outcome::more;
      // RFC 1952 §2.2: a file may have several members. After deflate nothing may follow.
      if (!stream.is_gzip || inflateReset(&stream.zlib) != Z_OK) return Outcome::broken;
      stream.ended = false;
    }
    stream.at_start = false;
    stream.zlib.next_out = reinterpret_cast<Bytef*>(stream.out.data());
    stream.zlib.avail_out = kPiece;
    const int result = inflate(&stream.zlib, Z_NO_FLUSH);
    const std::size_t size = kPiece - stream.zlib.avail_out;
    if (size > 0 && !taker({stream.out.data(), size})) return Outcome::stopped;
    stream.ended = result == Z_STREAM_END;
    if (stream.ended) continue;
    if (result == Z_BUF_ERROR || (result == Z_OK && stream.zlib.avail_out > 0)) {
      return Outcome::more;  // All input is used.
    }
    if (result != Z_OK) return Outcome::broken;
  }
}

bool BodyCoding::is_whole() const {
  return !stream_ || stream_->ended || (stream_->at_start && stream_->start.empty());
}

}  // namespace treaty::http
