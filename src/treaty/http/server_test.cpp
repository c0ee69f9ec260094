#include "treaty/http/server.h"

#include <doctest/doctest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <stdexcept>

#include "treaty/testing/loopback.h"

using namespace treaty;
using namespace treaty::http;
using namespace std::chrono_literals;
using boost::asio::awaitable;
using testing::Peer;
using testing::ServerThread;

namespace {

// Answers with method, target and body.
awaitable<void> echo(Exchange& exchange) {
  const Request& request = exchange.request();
  co_await exchange.respond({.body = request.method + " " + request.target + " " + request.body});
}

std::string answer_to(const ServerThread& server, std::string_view bytes) {
  Peer peer = Peer::connect(server.port());
  peer.send(bytes);
  peer.end_sending();
  return peer.read_all();
}

std::string status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") ? answer.substr(9, 3) : answer;
}

std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kClose = "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

}  // namespace

TEST_CASE("an answer has a length, a date, and the headers of the handler") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    co_await exchange.respond({.status = 201,
                               .headers = {{"x-a", "b\r\nx-evil: c"}, {"content-length", "7"}},
                               .body = "hi"});
  });
  const std::string answer = answer_to(server, kGet);

  CHECK(answer.starts_with("HTTP/1.1 201 Created\r\n"));
  CHECK(answer.contains("\r\ncontent-length: 2\r\n"));
  CHECK(answer.contains("\r\nx-a: b  x-evil: c\r\n"));
  CHECK(answer.contains(" GMT\r\n"));
  CHECK(body_of(answer) == "hi");
}

TEST_CASE("requests that come in one piece are answered one after the other") {
  const ServerThread server(echo);
  const std::string answer =
      answer_to(server, kGet + "\r\nPOST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc" +
                            kClose + kGet);

  CHECK(count(answer, "HTTP/1.1 200") == 3);
  CHECK(answer.find("GET /a ") < answer.find("POST /b abc"));
  CHECK(answer.ends_with("GET /last "));
  CHECK(answer.contains("connection: close\r\n"));
}

TEST_CASE("a chunked request is read whole, however it is cut") {
  const ServerThread server(echo);
  Peer peer = Peer::connect(server.port());
  const std::string request =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n";
  for (const char c : request) peer.send(std::string_view(&c, 1));
  CHECK(body_of(peer.read_all()) == "POST / abcde");
}

TEST_CASE("S10: a request with two readings gets 400, and the connection closes") {
  const ServerThread server(echo);
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& request : {
           post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
           post + "Content-Length: 3, 3\r\n\r\nabc",
           post + "A: b\r\n c\r\n\r\n",
           post + "A : b\r\n\r\n",
           post + ": b\r\n\r\n",
           post + "Host: h\r\n\r\n",
           post + "Transfer-Encoding: gzip\r\n\r\n",
           post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           post + "A: b" + std::string(1, '\0') + "\r\n\r\n",
           post + "A: b\rc\r\n\r\n",
           post + "A: b\n\r\n",
           post + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
           post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
           post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\n\r\n 3\r\nabc\r\n0\r\n\r\n",
           std::string("GET / HTTP/1.1\r\n\r\n"),
           std::string("GET / HTTP/1.1\n\n"),
           std::string("GET / HTTP/2.0\r\nHost: h\r\n\r\n"),
           std::string("GET /\r\n\r\n"),
           std::string("\x16\x03\x01\x02\n"),
       }) {
    CAPTURE(request);
    const std::string answer = answer_to(server, request + kGet);
    CHECK(status_of(answer) == "400");
    CHECK(count(answer, "content-length:") == 1);
    CHECK(answer.contains("connection: close\r\n"));
  }
}

TEST_CASE(
    "a client that expects 100-continue is told to go on, and another expectation is not met") {
  const ServerThread server(echo);
  Peer peer = Peer::connect(server.port());
  peer.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  CHECK(peer.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("ok");
  peer.end_sending();
  CHECK(body_of(peer.read_all()) == "POST / ok");

  CHECK(status_of(answer_to(server, "GET / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n")) == "417");
}

TEST_CASE("a header or a body beyond the limit is refused") {
  const ServerThread server(echo, {.max_header_bytes = 200, .max_body_bytes = 8});
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";

  CHECK(status_of(answer_to(server, "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(500, 'a'))) ==
        "431");
  CHECK(status_of(answer_to(server, post + "Content-Length: 9\r\n\r\n")) == "413");
  CHECK(status_of(answer_to(server, post + "Content-Length: 8\r\n\r\n12345678")) == "200");
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  CHECK(status_of(answer_to(server, chunked + "4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n")) == "200");
  CHECK(status_of(answer_to(server, chunked + "4\r\n1234\r\n5\r\n56789\r\n0\r\n\r\n")) == "413");
  CHECK(status_of(answer_to(server, chunked + "1;" + std::string(500, 'x'))) == "431");
}

TEST_CASE("a request that does not arrive in time gets 408, an idle connection just closes") {
  const ServerThread server(echo,
                            {.header_timeout = 30ms, .body_timeout = 30ms, .idle_timeout = 30ms});
  Peer slow = Peer::connect(server.port());
  slow.send("GET / HT");
  CHECK(status_of(slow.read_all()) == "408");

  Peer halting = Peer::connect(server.port());
  halting.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na");
  CHECK(status_of(halting.read_all()) == "408");

  CHECK(Peer::connect(server.port()).read_all() == "");
}

TEST_CASE("a connection too many gets 503") {
  const ServerThread server(echo, {.max_connections = 1});
  Peer first = Peer::connect(server.port());
  first.send(kGet);
  first.read_until("GET /a ");

  const std::string answer = Peer::connect(server.port()).read_all();
  CHECK(status_of(answer) == "503");
  CHECK(answer.contains("retry-after: 1\r\n"));
}

TEST_CASE("an answer in pieces is chunked; for HTTP/1.0 the end of the connection ends it") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    co_await exchange.begin(200, {{"content-type", "text/event-stream"}});
    co_await exchange.write("hello ");
    co_await exchange.write("");
    co_await exchange.write("world");
    co_await exchange.end();
  });
  const std::string chunked = answer_to(server, kGet + kClose);
  CHECK(count(chunked, "transfer-encoding: chunked\r\n") == 2);
  CHECK(count(chunked, "\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n") == 2);

  const std::string old = answer_to(server, "GET / HTTP/1.0\r\n\r\n");
  CHECK(body_of(old) == "hello world");
  CHECK(!old.contains("transfer-encoding"));
}

TEST_CASE("HEAD and 204 have no body") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    const int status = exchange.request().target == "/none" ? 204 : 200;
    co_await exchange.respond({.status = status, .body = "body"});
  });
  const std::string head = answer_to(server, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(head.contains("content-length: 4\r\n"));
  CHECK(body_of(head) == "");
  const std::string none = answer_to(server, "GET /none HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(!none.contains("content-length"));
  CHECK(body_of(none) == "");
}

TEST_CASE("a handler that fails or forgets to answer has 500 answered") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    if (exchange.request().target == "/a") throw std::runtime_error("a bug");
    co_return;
  });
  CHECK(status_of(answer_to(server, kGet)) == "500");
  CHECK(status_of(answer_to(server, kClose)) == "500");
}

TEST_CASE("raw bytes are sent as they are, then the connection closes") {
  const ServerThread server(
      [](Exchange& exchange) -> awaitable<void> { co_await exchange.write_raw("garbage"); });
  CHECK(answer_to(server, kGet + kGet) == "garbage");
}

TEST_CASE("an answer that is aborted or left unfinished lacks its last chunk") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    co_await exchange.begin(200, {});
    co_await exchange.write("part");
    if (exchange.request().target == "/a") exchange.abort(false);
    if (exchange.request().target == "/last") exchange.abort(true);
    if (exchange.request().target != "/b") CHECK(!co_await exchange.write("more"));
  });
  CHECK(answer_to(server, kGet).ends_with("4\r\npart\r\n"));
  CHECK(!answer_to(server, kClose).contains("more"));
  CHECK(answer_to(server, "GET /b HTTP/1.1\r\nHost: h\r\n\r\n").ends_with("4\r\npart\r\n"));
}

TEST_CASE("a handler that waits learns that its client has gone") {
  using namespace boost::asio::experimental::awaitable_operators;
  std::promise<bool> gone;
  const ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 10s);
    const auto first = co_await (timer.async_wait(boost::asio::use_awaitable) || exchange.closed());
    gone.set_value(first.index() == 1);
  });
  Peer peer = Peer::connect(server.port());
  peer.send(kGet);
  peer.close();
  CHECK(gone.get_future().get());
}

TEST_CASE("what a client sends ahead while its handler waits is not lost") {
  using namespace boost::asio::experimental::awaitable_operators;
  const ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 20ms);
    const auto first = co_await (timer.async_wait(boost::asio::use_awaitable) || exchange.closed());
    co_await exchange.respond({.body = first.index() == 0 ? "waited" : "gone"});
  });
  Peer peer = Peer::connect(server.port());
  peer.send(kGet);
  peer.send(kClose);
  CHECK(count(peer.read_all(), "waited") == 2);
}

TEST_CASE("after stop an idle connection closes, and a running exchange ends well") {
  std::promise<void> running;
  std::promise<void> stopped;
  std::shared_future<void> may_end = stopped.get_future().share();
  ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    if (exchange.request().target == "/a") co_return co_await echo(exchange);
    running.set_value();
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    while (may_end.wait_for(0s) != std::future_status::ready) {
      timer.expires_after(1ms);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    co_await echo(exchange);
  });
  Peer idle = Peer::connect(server.port());
  idle.send(kGet);
  idle.read_until("GET /a ");
  Peer busy = Peer::connect(server.port());
  busy.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  running.get_future().wait();

  server.on_loop([](Server& it) { it.stop(); });
  CHECK(idle.read_all() == "");
  stopped.set_value();
  const std::string answer = busy.read_all();
  CHECK(body_of(answer) == "GET /b ");
  CHECK(answer.contains("connection: close"));
}

TEST_CASE("a port that cannot be listened on is explained") {
  const ServerThread other(echo);
  boost::asio::io_context context;
  Server server(context, echo);

  CHECK(server.listen("127.0.0.1", other.port()).error().message.contains("is in use"));
  CHECK(server.listen("localhost", 0).error().message.contains("is not an IP address"));
  CHECK(server.listen("192.0.2.1", 0).error().message.contains("not an address of this machine"));
  CHECK(server.listen("127.0.0.1", 0).value_or(0) != 0);
}
