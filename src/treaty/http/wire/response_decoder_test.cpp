#include "treaty/http/wire/response_decoder.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <vector>

using namespace treaty::http;

namespace {

struct Sink final : ResponseSink {
  Response answer{.status = 0};
  int heads = 0;
  void on_head(const Response& head) override {
    answer = head;
    ++heads;
  }
  bool on_body(std::string_view bytes) override {
    answer.body += bytes;
    return true;
  }
};

struct Result {
  Response answer{.status = 0};
  std::string failure{};  // Empty for none.
  FailureKind kind = FailureKind::cancelled;
  bool keeps_alive = false;
};

// Feeds `bytes` in pieces of `piece` bytes, then ends the connection if the answer still wants
// more.
Result decode_response(const std::string& bytes, std::size_t piece = 1U << 20U,
                       FetchOptions options = {}) {
  Sink sink;
  ResponseDecoder decoder(sink, options, false);
  std::expected<bool, FetchFailure> fed = false;
  for (std::size_t at = 0; at < bytes.size() && fed && !*fed; at += piece) {
    fed = decoder.feed(std::string(bytes.substr(at, piece)));
  }
  std::expected<void, FetchFailure> ended{};
  if (!fed) {
    ended = std::unexpected(fed.error());
  } else if (!*fed) {
    ended = decoder.finish();
  }
  CHECK(sink.heads <= 1);
  Result result{.answer = sink.answer, .keeps_alive = decoder.keeps_alive()};
  if (!ended) result.failure = ended.error().message;
  if (!ended) result.kind = ended.error().kind;
  return result;
}

// `window`: 31 for gzip, 15 for zlib, -15 for raw deflate.
std::string packed(const std::string& text, int window) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string coded(const std::string& coding, const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Encoding: " + coding +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

const std::string kLength = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";
const std::string kChunkedResponse =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x\r\ndy\r\n0\r\nT: "
    "t\r\n\r\n";

}  // namespace

TEST_CASE("the same answer comes out however the bytes are cut") {
  for (const std::string& bytes :
       {kLength, kChunkedResponse, coded("gzip", packed("body", 31)),
        coded("deflate", packed("body", 15)), coded("deflate", packed("body", -15)),
        coded("x-gzip", packed("bo", 31) + packed("dy", 31)), coded("identity", "body")}) {
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      const Result result = decode_response(bytes, piece);
      CHECK(result.failure == "");
      CHECK(result.answer.body == "body");
      CHECK(result.keeps_alive);
    }
  }
}

TEST_CASE("an answer that is cut at any byte is a failure") {
  for (const std::string& bytes : {kLength, kChunkedResponse, coded("gzip", packed("body", 31)),
                                   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                                   "Content-Encoding: gzip\r\n\r\n18\r\n" +
                                       packed("body", 31) + "\r\n0\r\n\r\n"}) {
    REQUIRE(decode_response(bytes).failure == "");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CAPTURE(size);
      const Result result = decode_response(bytes.substr(0, size));
      CHECK(result.failure != "");
      CHECK(result.kind == FailureKind::reset);
      CHECK(!result.keeps_alive);
    }
  }
}

TEST_CASE(
    "an answer that its connection ends may be cut in its body unnoticed, if it is not packed") {
  const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
  CHECK(decode_response(head + "bo").answer.body == "bo");
  const std::string gzip = packed("body", 31);
  const std::string coded_head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
  CHECK(decode_response(coded_head + gzip).answer.body == "body");
  for (std::size_t size = 1; size < gzip.size(); ++size) {
    CHECK(decode_response(coded_head + gzip.substr(0, size)).kind == FailureKind::malformed);
  }
}

TEST_CASE("a bomb stops exactly at the limit") {
  std::string many;
  many.resize(10'000'000, 'x');
  const std::string bomb = coded("gzip", packed(many, 31));
  CHECK(bomb.size() < 20'000);
  const Result result = decode_response(bomb, 1000, {.max_body_bytes = 12'345});
  CHECK(result.kind == FailureKind::too_large);
  CHECK(result.failure == "the answer is larger than 12345 bytes");
  CHECK(result.answer.body.size() == 12'345);
  CHECK(decode_response(bomb, 1000, {.max_body_bytes = 10'000'000}).failure == "");
}

TEST_CASE("a body beyond the limit is refused, one as large as the limit is not") {
  CHECK(decode_response(kLength, 1, {.max_body_bytes = 4}).failure == "");
  CHECK(decode_response(kLength, 1, {.max_body_bytes = 3}).answer.body == "bod");
  CHECK(decode_response(kLength, 99, {.max_body_bytes = 3}).kind == FailureKind::too_large);
  CHECK(decode_response(kChunkedResponse, 99, {.max_body_bytes = 3}).kind ==
        FailureKind::too_large);
}

TEST_CASE("a header beyond the limit is refused, also one of many interim answers") {
  const FetchOptions options{.max_header_bytes = 100};
  const std::string large = "HTTP/1.1 200 OK\r\nA: " + std::string(200, 'a') + "\r\n\r\n";
  CHECK(decode_response(large, 1, options).kind == FailureKind::too_large);
  CHECK(decode_response(large, 999, options).kind == FailureKind::too_large);
  std::string interim;
  for (int i = 0; i < 10; ++i) interim += "HTTP/1.1 103 Early Hints\r\n\r\n";
  CHECK(decode_response(interim + kLength, 7, options).kind == FailureKind::too_large);
  const std::string trailer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: ";
  CHECK(decode_response(trailer + std::string(200, 't'), 7, options).kind ==
        FailureKind::too_large);
}

TEST_CASE("what is not HTTP, or cannot be unpacked, is malformed") {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& bytes :
       {std::string("<html>\r\n\r\n"), std::string("SSH-2.0-OpenSSH_9\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\n\nbody"), std::string("HTTP/2 200\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nbody"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nbody"),
        std::string("HTTP/1.1 101 Switching Protocols\r\n\r\n"), chunked + "xyz\r\n",
        chunked + "2\r\nabc\r\n0\r\n\r\n", chunked + "\r\n", chunked + "fffffffffffffffff\r\n",
        coded("br", "body"), coded("gzip, gzip", "body"), coded("gzip", "body"),
        coded("gzip", packed("body", 31) + "garbage"), coded("deflate", packed("b", 15) + "x"),
        coded("deflate", "\xFF\xFF")}) {
    CAPTURE(bytes);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{999}}) {
      const Result result = decode_response(bytes, piece);
      CHECK(result.failure != "");
      CHECK(result.kind == FailureKind::malformed);
    }
  }
}

TEST_CASE("an empty body needs no gzip in it") {
  CHECK(decode_response(coded("gzip", "")).failure == "");
}
