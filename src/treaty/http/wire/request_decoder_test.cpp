#include "treaty/http/wire/request_decoder.h"

#include <doctest/doctest.h>

#include <vector>

using namespace treaty::http;

namespace {

constexpr RequestLimits kLimits{.max_header_bytes = 300, .max_body_bytes = 20};

struct Told {
  Request request{};
  int status = 0;  // Of the refusal.
  std::string message{};
  bool done = false;
  std::string rest{};  // What the decoder did not take.
};

// Feeds `bytes` as a connection does, `piece` bytes at a time.
Told decode(const std::string& bytes, std::size_t piece = 1U << 20U) {
  RequestDecoder decoder(kLimits);
  std::string pending;
  for (std::size_t at = 0; at < bytes.size() && !decoder.done(); at += piece) {
    pending += bytes.substr(at, piece);
    pending.erase(0, decoder.feed(pending));
    if (decoder.refusal().status != 0) break;
  }
  return {.request = decoder.request(),
          .status = decoder.refusal().status,
          .message = decoder.refusal().message,
          .done = decoder.done(),
          .rest = pending};
}

// The refusal, which must not hang on how the bytes were cut.
Told refused(const std::string& bytes) {
  const Told whole = decode(bytes);
  const Told crumbs = decode(bytes, 1);
  CHECK(!whole.done);
  CHECK(!crumbs.done);
  CHECK(whole.status == crumbs.status);
  return whole;
}

const std::string kPost = "POST /x HTTP/1.1\r\nHost: h\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

}  // namespace

TEST_CASE("a request is read whole, however it is cut, and what follows is left") {
  const std::string bytes =
      "POST /a?b=c HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CAPTURE(piece);
    const Told told = decode(bytes, piece);
    CHECK(told.done);
    CHECK(told.request.method == "POST");
    CHECK(told.request.target == "/a?b=c");
    CHECK(told.request.headers.get("x-a") == "1, 2");
    CHECK(told.request.body == "hello");
  }
  CHECK(decode(bytes + "GET /next").rest == "GET /next");
}

TEST_CASE("chunks are joined, their extensions and trailers passed over, however they are cut") {
  const std::string bytes =
      kChunked + "3\r\nabc\r\n00A;name=\"v\"\r\n0123456789\r\n0;x\r\nX-Sum: 1\r\nX-More:\r\n\r\n";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CAPTURE(piece);
    const Told told = decode(bytes, piece);
    CHECK(told.done);
    CHECK(told.request.body == "abc0123456789");
    CHECK(told.request.headers.find("x-sum") == nullptr);
  }
  CHECK(decode(kChunked + "0\r\n\r\nGET /next").rest == "GET /next");
}

TEST_CASE("a request without a body is done with its head") {
  CHECK(decode("GET / HTTP/1.1\r\nHost: h\r\n\r\n").done);
  CHECK(decode("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 1).done);
  CHECK(decode(kPost + "\r\n").done);
  CHECK(!decode("GET / HTTP/1.1\r\nHost: h\r\n").done);
  CHECK(!decode(kPost + "Content-Length: 2\r\n\r\na").done);
}

TEST_CASE(
    "the headers of the handler's business reach it: what a body is encoded with, and the key") {
  const Told told = decode(kPost + "Content-Encoding: gzip\r\nAuthorization: Bearer k\r\n\r\n");
  CHECK(told.request.headers.get("content-encoding") == "gzip");
  CHECK(told.request.headers.get("authorization") == "Bearer k");
}

TEST_CASE("a connection is kept by HTTP/1.1 unless it says close, and by HTTP/1.0 if it says so") {
  const auto keeps = [](const std::string& head) {
    RequestDecoder decoder(kLimits);
    decoder.feed(head);
    REQUIRE(decoder.done());
    return decoder.keeps_alive();
  };
  CHECK(keeps("GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
  CHECK(!keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n"));
  CHECK(!keeps("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, close\r\n\r\n"));
  CHECK(!keeps("GET / HTTP/1.0\r\n\r\n"));
  CHECK(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST_CASE("an expectation counts for HTTP/1.1 alone, and only 100-continue is met") {
  const auto expects = [](const std::string& version, const std::string& what) {
    RequestDecoder decoder(kLimits);
    decoder.feed("POST / HTTP/" + version + "\r\nHost: h\r\nContent-Length: 1\r\nExpect: " + what +
                 "\r\n\r\n");
    return decoder.refusal().status != 0 ? decoder.refusal().status : decoder.expects_continue();
  };
  CHECK(expects("1.1", "100-continue") == 1);
  CHECK(expects("1.1", "100-Continue") == 1);
  CHECK(expects("1.0", "100-continue") == 0);
  CHECK(expects("1.1", "tea") == 417);
  CHECK(expects("1.1", "100-continue, tea") == 417);
}

TEST_CASE("S10: chunks that have two readings are refused") {
  for (const std::string bad : {
           "xyz\r\n",
           "-1\r\n",
           "+1\r\na\r\n0\r\n\r\n",
           " 3\r\nabc\r\n0\r\n\r\n",
           "3 \r\nabc\r\n0\r\n\r\n",
           "0x3\r\nabc\r\n0\r\n\r\n",
           ";x\r\n",
           "\r\n\r\n",
           "3\nabc\r\n0\r\n\r\n",
           "3\r\nabc\n0\r\n\r\n",
           "3\r\nabcd\r\n0\r\n\r\n",
           "3\r\nab\r\n0\r\n\r\n",
           "3;a\rb\r\nabc\r\n0\r\n\r\n",
           "3\r\rabc\r\n0\r\n\r\n",
           "10000000000000003\r\nabc\r\n0\r\n\r\n",
       }) {
    CAPTURE(bad);
    CHECK(refused(kChunked + bad).status == 400);
  }
  CHECK(refused(kChunked + "3;" + std::string(1, '\0') + "\r\nabc\r\n").status == 400);
}

TEST_CASE("S10: a trailer is as strict as a header, and says nothing of lengths") {
  for (const std::string bad : {
           "A: b\r\n c\r\n",
           " A: b\r\n",
           "A : b\r\n",
           ": b\r\n",
           "A\r\n",
           "A: b\rc\r\n",
           "A: b\n",
           "Content-Length: 3\r\n",
           "Transfer-Encoding: chunked\r\n",
           "Host: h\r\n",
       }) {
    CAPTURE(bad);
    CHECK(refused(kChunked + "1\r\na\r\n0\r\n" + bad + "\r\n").status == 400);
  }
  CHECK(refused(kChunked + "0\r\nA: b\r\n c\r\n\r\n").message == "a header field is folded");
}

TEST_CASE("what is too large is refused as soon as that is known, before it comes") {
  CHECK(refused(kPost + "Content-Length: 21\r\n\r\n").status == 413);
  CHECK(refused(kChunked + "15\r\n").status == 413);
  CHECK(refused(kChunked + "a\r\n0123456789\r\nb\r\n").status == 413);
  CHECK(refused(kPost + "A: " + std::string(300, 'a')).status == 431);
  CHECK(refused(kChunked + "1;" + std::string(300, 'x')).status == 431);
  CHECK(refused(kChunked + "0\r\nA: " + std::string(300, 'x')).status == 431);
  CHECK(decode(kPost + "Content-Length: 20\r\n\r\n" + std::string(20, 'b')).done);
}
