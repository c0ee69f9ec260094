// On a real socket: clients that send slowly, read slowly, wait long or come in crowds.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>

#include "treaty/testing/answers.h"

using namespace treaty;
using namespace treaty::http;
using namespace treaty::testing;
using namespace std::chrono_literals;
using boost::asio::awaitable;

namespace {

awaitable<void> hello(Exchange& exchange) { co_await exchange.respond({.body = "hello"}); }

bool is_ready(const Peer& peer, short events, int milliseconds) {
  pollfd ready{.fd = peer.descriptor(), .events = events, .revents = 0};
  return poll(&ready, 1, milliseconds) > 0;
}

// Sends one byte every few milliseconds until the server has something to say.
std::string answer_to_trickle(Peer& peer, std::string_view forever) {
  for (int i = 0; i < 5'000 && !is_ready(peer, POLLIN, 2); ++i) peer.send(forever.substr(0, 1));
  return peer.read_all();
}

// Waits for what may come, as an event stream does; ends well when nobody wants it any more.
awaitable<void> follow(Exchange& exchange) {
  CHECK(exchange.take_request().target == "/a");
  CHECK(exchange.request().headers.empty());
  co_await exchange.begin(200, {});
  co_await exchange.write("first");
  exchange.interrupt_when(Exchange::Until::server_stops);
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  while (exchange.is_wanted()) {
    boost::system::error_code ignored;
    timer.expires_after(60s);
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  co_await exchange.end();
}

// Waits until the server has this many connections.
bool comes_to(ServerThread& server, std::size_t connections) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < end) {
    std::size_t now = 0;
    server.on_loop([&](Server& it) { now = it.connections(); });
    if (now == connections) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

TEST_CASE("a request that does not arrive in time gets 408, an idle connection just closes") {
  const ServerThread server(hello,
                            {.header_timeout = 30ms, .body_timeout = 30ms, .idle_timeout = 30ms});
  Peer slow = Peer::connect(server.port());
  slow.send("GET / HT");
  CHECK(slow.read_all().starts_with("HTTP/1.1 408 "));

  Peer halting = Peer::connect(server.port());
  halting.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na");
  CHECK(halting.read_all().starts_with("HTTP/1.1 408 "));

  CHECK(Peer::connect(server.port()).read_all() == "");
}

TEST_CASE("S7: a byte now and then does not buy a header or a body more time") {
  const ServerThread server(hello, {.header_timeout = 50ms, .body_timeout = 50ms});
  Peer header = Peer::connect(server.port());
  header.send("GET / HTTP/1.1\r\nA: ");
  CHECK(answer_to_trickle(header, "aaaa").starts_with("HTTP/1.1 408 "));

  Peer body = Peer::connect(server.port());
  body.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  CHECK(answer_to_trickle(body, "aaaa").starts_with("HTTP/1.1 408 "));

  Peer chunks = Peer::connect(server.port());
  chunks.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;");
  CHECK(answer_to_trickle(chunks, "aaaa").starts_with("HTTP/1.1 408 "));
}

TEST_CASE("S7: a writer waits for a slow reader, and gives up on one that takes nothing") {
  std::promise<bool> gave_up;
  std::promise<void> full;
  const ServerThread server(
      [&](Exchange& exchange) -> awaitable<void> {
        if (exchange.request().target != "/slow") co_return co_await hello(exchange);
        co_await exchange.begin(200, {});
        const std::string piece(std::size_t{1} << 20U, 'x');
        full.set_value();
        bool taken = true;
        for (int i = 0; taken && i < 1'000; ++i) taken = co_await exchange.write(piece);
        gave_up.set_value(!taken);
      },
      {.write_timeout = 100ms});
  Peer slow = Peer::connect(server.port());
  slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  full.get_future().wait();

  Peer good = Peer::connect(server.port());
  good.send(kGet);
  CHECK(good.read_until("hello").ends_with("hello"));
  CHECK(gave_up.get_future().get());
}

TEST_CASE("an answer larger than every buffer arrives whole at a reader that takes its time") {
  const std::string body(std::size_t{24} << 20U, 'b');
  const ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    if (exchange.request().target == "/a") {
      co_await exchange.respond({.body = body});
    } else {
      co_await exchange.begin(200, {});
      co_await exchange.write(body);
      co_await exchange.end();
    }
  });
  Peer whole = Peer::connect(server.port());
  whole.send(kGet);
  whole.read_until("\r\n\r\n");
  whole.end_sending();
  CHECK(whole.read_all() == body);

  Peer chunked = Peer::connect(server.port());
  chunked.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n");
  chunked.read_until("\r\n\r\n");
  chunked.end_sending();
  CHECK(chunked.read_all() == "1800000\r\n" + body + "\r\n0\r\n\r\n");
}

TEST_CASE("a handler that follows something ends when its client goes") {
  ServerThread server(follow);
  Peer peer = Peer::connect(server.port());
  peer.send(kGet);
  peer.read_until("first");
  CHECK(comes_to(server, 1));
  peer.close();
  CHECK(comes_to(server, 0));
}

TEST_CASE("a handler that follows something ends well when the server stops") {
  ServerThread server(follow);
  Peer peer = Peer::connect(server.port());
  peer.send(kGet);
  peer.read_until("first\r\n");
  server.on_loop([](Server& it) { it.stop(); });
  CHECK(peer.read_all() == "0\r\n\r\n");
  peer.close();
  CHECK(comes_to(server, 0));
}

TEST_CASE(
    "what a client sends while its handler follows something is kept for later, and bounded") {
  ServerThread server(follow);
  Peer peer = Peer::connect(server.port());
  peer.send(kGet);
  peer.read_until("first\r\n");
  const std::string piece(std::size_t{1} << 20U, 'x');
  std::size_t sent = 0;
  while (sent < (std::size_t{256} << 20U) && is_ready(peer, POLLOUT, 300)) {
    const ssize_t size = send(peer.descriptor(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size > 0) sent += static_cast<std::size_t>(size);
  }
  CHECK(sent < (std::size_t{64} << 20U));
  server.on_loop([](Server& it) { it.stop(); });
  CHECK(peer.read_until("0\r\n\r\n") == "0\r\n\r\n");
}

TEST_CASE("S7: a crowd that comes at once and says nothing leaves room for the others") {
  ServerThread server(hello);
  std::vector<Peer> crowd;
  crowd.reserve(400);
  for (int i = 0; i < 400; ++i) crowd.push_back(Peer::connect(server.port()));
  CHECK(comes_to(server, 400));
  Peer good = Peer::connect(server.port());
  good.send(kGet);
  CHECK(good.read_until("hello").ends_with("hello"));
  for (Peer& peer : crowd) peer.send(kGet);
  int answered = 0;
  for (Peer& peer : crowd) answered += peer.read_until("hello").ends_with("hello") ? 1 : 0;
  CHECK(answered == 400);

  server.on_loop([](Server& it) { it.stop(); });
  CHECK(comes_to(server, 0));
}
