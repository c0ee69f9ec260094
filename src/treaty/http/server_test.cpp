#include "treaty/http/server.h"

#include <doctest/doctest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <stdexcept>

#include "treaty/testing/answers.h"

using namespace treaty;
using namespace treaty::http;
using namespace treaty::testing;
using namespace std::chrono_literals;
using boost::asio::awaitable;

namespace {

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

TEST_CASE("HTTP/1.0 keeps its connection when it asks for that") {
  const ServerThread server(echo);
  const std::string answer = answer_to(
      server, "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n" + kGet);
  CHECK(count(answer, "HTTP/1.1 200") == 2);
  CHECK(count(answer, "connection: keep-alive\r\n") == 1);
  CHECK(answer.ends_with("GET /b "));
}

TEST_CASE("HEAD and 204 have no body") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    const int status = exchange.request().target == "/none" ? 204 : 200;
    if (exchange.request().target == "/pieces") {
      co_await exchange.begin(200, {});
      co_await exchange.write("body");
      co_return (void) co_await exchange.end();
    }
    co_await exchange.respond({.status = status, .body = "body"});
  });
  const std::string head = answer_to(server, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(head.contains("content-length: 4\r\n"));
  CHECK(body_of(head) == "");
  const std::string pieces = answer_to(server, "HEAD /pieces HTTP/1.1\r\nHost: h\r\n\r\n" + kGet);
  CHECK(pieces.find("HTTP/1.1 200", 1) == pieces.find("\r\n\r\n") + 4);
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

TEST_CASE("two servers share a port when the second asks for that, and both are reached") {
  const auto say = [](std::string name) {
    return [name](Exchange& exchange) -> awaitable<void> {
      co_await exchange.respond({.body = name});
    };
  };
  boost::asio::io_context context(1);
  Server first(context, say("first"));
  const std::uint16_t port = first.listen("127.0.0.1", 0).value_or(0);
  Server second(context, say("second"), {.reuse_port = true});
  CHECK(second.listen("127.0.0.1", port).value_or(0) == port);
  Server stranger(context, say("stranger"));
  CHECK(!stranger.listen("127.0.0.1", port));
  std::thread loop([&] { context.run(); });

  std::string all;
  for (int i = 0; i < 64; ++i) {
    Peer peer = Peer::connect(port);
    peer.send(kClose);
    all += peer.read_all();
  }
  context.stop();
  loop.join();
  CHECK(count(all, "first") + count(all, "second") == 64);
  CHECK(all.contains("first"));
  CHECK(all.contains("second"));
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
