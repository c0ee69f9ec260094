// The framing and the limits of a request, on a real socket: what the server refuses before a
// handler sees it.
#include <doctest/doctest.h>

#include <atomic>

#include "treaty/testing/answers.h"

using namespace treaty;
using namespace treaty::http;
using namespace treaty::testing;
using boost::asio::awaitable;

namespace {

const std::string kPost = "POST / HTTP/1.1\r\nHost: h\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

// Each is refused with 400, once; what follows it in the same bytes is nobody's request.
void check_refused(const std::vector<std::string>& requests) {
  std::atomic<int> handled = 0;
  const ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    ++handled;
    co_await echo(exchange);
  });
  for (const std::string& request : requests) {
    CAPTURE(request);
    const std::string answer = answer_to(server, request + kGet);
    CHECK(status_of(answer) == "400");
    CHECK(!answer.contains("HTTP/1.1 200"));
    CHECK(count(answer, "content-length:") == 1);
    CHECK(answer.contains("connection: close\r\n"));
    CHECK(answer.contains("\"message\":\""));
  }
  CHECK(handled == 0);
}

}  // namespace

TEST_CASE("S10: Content-Length with Transfer-Encoding gets 400, and the connection closes") {
  check_refused({kPost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 kPost + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"});
}

TEST_CASE("S10: a doubled or unclear length gets 400, and the connection closes") {
  check_refused({kPost + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
                 kPost + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
                 kPost + "Content-Length: 3, 3\r\n\r\nabc", kPost + "Content-Length: +3\r\n\r\nabc",
                 kPost + "Content-Length: 0x3\r\n\r\nabc", kPost + "Content-Length: -1\r\n\r\n",
                 kPost + "Content-Length: \r\n\r\n",
                 kPost + "Content-Length: 18446744073709551617\r\n\r\n"});
}

TEST_CASE("S10: a folded header field gets 400, in a trailer too, and the connection closes") {
  check_refused({kPost + "A: b\r\n c\r\n\r\n", kPost + "A: b\r\n\tc\r\n\r\n",
                 "POST / HTTP/1.1\r\n Host: h\r\n\r\n",
                 kChunked + "1\r\na\r\n0\r\nA: b\r\n c\r\n\r\n",
                 kChunked + "0\r\nA: b\r\n\tc\r\n\r\n"});
}

TEST_CASE("S10: a line that ends with a line feed alone gets 400, and the connection closes") {
  check_refused({kPost + "A: b\n\r\n", "GET / HTTP/1.1\n\n", "GET / HTTP/1.1\nHost: h\n\n",
                 kPost + "A: b\r\n\n", kChunked + "3\nabc\n0\n\n", kChunked + "0\r\nA: b\n\r\n",
                 "\x16\x03\x01\x02\n"});
}

TEST_CASE("S10: a bad chunk gets 400, and the connection closes") {
  check_refused({kChunked + "xyz\r\n", kChunked + "3\r\nabcd\r\n0\r\n\r\n", kChunked + "-1\r\n\r\n",
                 kChunked + " 3\r\nabc\r\n0\r\n\r\n", kChunked + "3 \r\nabc\r\n0\r\n\r\n",
                 kChunked + "0x3\r\nabc\r\n0\r\n\r\n",
                 kChunked + "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
                 kChunked + "3;a\rb\r\nabc\r\n0\r\n\r\n"});
}

TEST_CASE("S10: space before a colon, or no name before it, gets 400, and the connection closes") {
  check_refused({kPost + "A : b\r\n\r\n", kPost + "A\t: b\r\n\r\n",
                 kPost + "Content-Length : 3\r\n\r\nabc", kPost + ": b\r\n\r\n",
                 kPost + "b\r\n\r\n", kPost + "A b: c\r\n\r\n", kChunked + "0\r\nA : b\r\n\r\n"});
}

TEST_CASE("S10: two hosts or none get 400, and the connection closes") {
  check_refused({kPost + "Host: h\r\n\r\n", kPost + "hOsT: other\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
                 "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"});
}

TEST_CASE("a host or a target that has two readings gets 400, and the connection closes") {
  const std::string host = " HTTP/1.1\r\nHost: h\r\n\r\n";
  check_refused({"GET / HTTP/1.1\r\nHost: localhost:evil.example\r\n\r\n",
                 "GET / HTTP/1.1\r\nHost: localhost:80:90\r\n\r\n", "GET /a#b" + host,
                 "GET http://h/#b" + host, "GET a" + host, "GET http://" + host,
                 "GET http:///a" + host, "GET http://u@h/a" + host, "GET http://h:x/" + host,
                 "CONNECT h:443" + host});
}

TEST_CASE("a header field with one value that comes twice gets 400, and the connection closes") {
  for (const std::string name : {"Idempotency-Key", "Last-Event-ID", "Content-Type",
                                 "Authorization", "X-Api-Key", "Origin", "traceparent"}) {
    CAPTURE(name);
    const std::string field = name + ": a\r\n";
    check_refused({std::string(kPost).append(field).append(field).append("\r\n")});
  }
}

TEST_CASE("the host of a whole address is the host, whatever the header says") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    const Request& request = exchange.request();
    co_await exchange.respond(
        {.body = std::string(request.headers.get("host")) + " " + request.target});
  });
  const auto told = [&](const std::string& target) {
    return body_of(answer_to(server, "GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n"));
  };
  CHECK(told("/a?b") == "h /a?b");
  CHECK(told("*") == "h *");
  CHECK(told("http://evil.example/a?b") == "evil.example /a?b");
  CHECK(told("HTTPS://[::1]:80") == "[::1]:80 /");
  CHECK(told("http://127.0.0.1:8088?b=http://x/") == "127.0.0.1:8088 /?b=http://x/");
}

TEST_CASE("S10: an unknown transfer coding gets 400, and the connection closes") {
  check_refused({kPost + "Transfer-Encoding: gzip\r\n\r\n",
                 kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
                 kPost + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
                 kPost + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
                 kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
                 "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"});
}

TEST_CASE("S10: a zero byte or a carriage return alone gets 400, and the connection closes") {
  const std::string zero(1, '\0');
  check_refused({kPost + "A: b" + zero + "\r\n\r\n", kPost + "A" + zero + ": b\r\n\r\n",
                 "GET /" + zero + " HTTP/1.1\r\nHost: h\r\n\r\n", kPost + "A: b\rc\r\n\r\n",
                 kPost + "A: b\r\r\n\r\n", "GET /\r HTTP/1.1\r\nHost: h\r\n\r\n",
                 kPost + "A: b\x01\r\n\r\n"});
}

TEST_CASE("S10: an unknown version or no request line gets 400, and the connection closes") {
  check_refused({"GET / HTTP/2.0\r\nHost: h\r\n\r\n", "GET / HTTP/1.2\r\nHost: h\r\n\r\n",
                 "GET / HTTP/0.9\r\nHost: h\r\n\r\n", "GET / http/1.1\r\nHost: h\r\n\r\n",
                 "GET /\r\n\r\n", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
                 "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"});
}

TEST_CASE("a header or a body beyond the limit is refused") {
  const ServerThread server(echo, {.max_header_bytes = 200, .max_body_bytes = 8});

  CHECK(status_of(answer_to(server, "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(500, 'a'))) ==
        "431");
  CHECK(status_of(answer_to(server, kPost + "Content-Length: 9\r\n\r\n")) == "413");
  CHECK(status_of(answer_to(server, kPost + "Content-Length: 8\r\n\r\n12345678")) == "200");
  CHECK(status_of(answer_to(server, kChunked + "4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n")) == "200");
  CHECK(status_of(answer_to(server, kChunked + "4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n")) == "413");
  CHECK(status_of(answer_to(server, kChunked + "1;" + std::string(500, 'x'))) == "431");
}

TEST_CASE("a client that expects 100-continue is told to go on when its body is wanted") {
  const ServerThread server(echo, {.max_body_bytes = 8});
  const std::string expecting = kPost + "Expect: 100-continue\r\n";
  Peer peer = Peer::connect(server.port());
  peer.send(expecting + "Content-Length: 2\r\n\r\n");
  CHECK(peer.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("ok");
  peer.end_sending();
  CHECK(body_of(peer.read_all()) == "POST / ok");

  // Not when it is too large, has come already, or is empty; and other expectations are not met.
  CHECK(status_of(answer_to(server, expecting + "Content-Length: 9\r\n\r\n")) == "413");
  CHECK(status_of(answer_to(server, expecting + "Content-Length: 2\r\n\r\nok")) == "200");
  CHECK(status_of(answer_to(server, expecting + "Content-Length: 0\r\n\r\n")) == "200");
  CHECK(status_of(answer_to(server, kPost + "Expect: tea\r\n\r\n")) == "417");
}

TEST_CASE("a request can be refused by its head, before its body is waited for") {
  const ServerThread server(echo, {.admit = [](const Request& head) -> std::optional<Response> {
                              if (head.headers.get("authorization") == "Bearer k")
                                return std::nullopt;
                              return Response{.status = 401, .body = "who are you?"};
                            }});
  const std::string expecting = kPost + "Content-Length: 2\r\nExpect: 100-continue\r\n";
  Peer stranger = Peer::connect(server.port());
  stranger.send(expecting + "\r\n");
  const std::string answer = stranger.read_all();
  CHECK(status_of(answer) == "401");
  CHECK(answer.contains("connection: close\r\n"));
  CHECK(body_of(answer) == "who are you?");

  Peer friendly = Peer::connect(server.port());
  friendly.send(expecting + "Authorization: Bearer k\r\n\r\n");
  CHECK(friendly.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  friendly.send("ok");
  friendly.end_sending();
  CHECK(body_of(friendly.read_all()) == "POST / ok");
}

TEST_CASE("a program says in its own words what the server refuses") {
  const ServerThread server(
      [](Exchange& exchange) -> awaitable<void> {
        if (exchange.request().target == "/a") co_return;  // Forgets to answer.
        co_await echo(exchange);
      },
      {.max_body_bytes = 8, .refusal = [](int status, std::string_view message) -> Response {
         return {.status = status,
                 .headers = {{"x-own", "yes"}},
                 .body = std::to_string(status) + ": " + std::string(message)};
       }});
  for (const auto& [request, body] : std::vector<std::pair<std::string, std::string>>{
           {"GET / HTTP/1.1\r\n\r\n", "400: Host is missing"},
           {kPost + "Content-Length: 9\r\n\r\n", "413: the body is larger than 8 bytes"},
           {kGet, "500: the server failed to answer"}}) {
    CAPTURE(request);
    const std::string answer = answer_to(server, request);
    CHECK(answer.contains("\r\nx-own: yes\r\n"));
    CHECK(body_of(answer) == body);
  }
}
