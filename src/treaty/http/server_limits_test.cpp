// Limits that connections share, and the end of a server that waits no longer.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "treaty/testing/answers.h"

using namespace treaty;
using namespace treaty::http;
using namespace treaty::testing;
using namespace std::chrono_literals;
using boost::asio::awaitable;

namespace {

constexpr std::size_t kKibi = 1024;

std::string post_of(std::size_t length) {
  return "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

// Answers nothing until the client goes.
awaitable<void> wait(Exchange& exchange) {
  exchange.interrupt_when(Exchange::Until::client_goes);
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 60s);
  boost::system::error_code ignored;
  co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
}

bool comes_to_be(const auto& holds) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return holds();
}

}  // namespace

TEST_CASE("bodies that come at once have a common limit: beyond it 503, but for small ones") {
  const auto load = std::make_shared<ServerLoad>();
  const ServerThread server(echo, {.load = load, .max_body_memory = 512 * kKibi});
  Peer first = Peer::connect(server.port());
  first.send(post_of(400 * kKibi) + std::string(399 * kKibi, 'a'));
  REQUIRE(comes_to_be([&] { return load->bodies.used() == 400 * kKibi; }));

  const std::string refused = answer_to(server, post_of(200 * kKibi) + std::string(kKibi, 'b'));
  CHECK(status_of(refused) == "503");
  CHECK(refused.contains("retry-after: 1\r\n"));
  CHECK(refused.contains("connection: close\r\n"));
  const std::string small = post_of(60 * kKibi) + std::string(60 * kKibi, 'b');
  CHECK(status_of(answer_to(server, small)) == "200");

  first.send(std::string(kKibi, 'a'));
  CHECK(first.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 "));
  CHECK(comes_to_be([&] { return load->bodies.used() == 0; }));
  const std::string large = post_of(200 * kKibi) + std::string(200 * kKibi, 'b');
  CHECK(status_of(answer_to(server, large)) == "200");
}

TEST_CASE("a body counts until its request is answered or its client goes") {
  const auto load = std::make_shared<ServerLoad>();
  const ServerThread server(wait, {.load = load});
  {
    Peer whole = Peer::connect(server.port());
    whole.send(post_of(400 * kKibi) + std::string(400 * kKibi, 'a'));
    CHECK(comes_to_be([&] { return load->bodies.used() == 400 * kKibi; }));
    Peer half = Peer::connect(server.port());
    half.send(post_of(200 * kKibi) + std::string(190 * kKibi, 'a'));
    CHECK(comes_to_be([&] { return load->bodies.used() == 600 * kKibi; }));
  }
  CHECK(comes_to_be([&] { return load->bodies.used() == 0; }));
  CHECK(comes_to_be([&] { return load->connections == 0; }));
}

TEST_CASE("a client that is refused while it sends a large body still reads why") {
  const ServerThread server(echo, {.max_body_memory = 512 * kKibi});
  Peer peer = Peer::connect(server.port());
  peer.send(post_of(std::size_t{4} << 20U) + std::string(std::size_t{4} << 20U, 'a'));
  CHECK(status_of(peer.read_all()) == "503");
}

TEST_CASE("servers that share their load share the limit of connections") {
  const auto load = std::make_shared<ServerLoad>();
  const ServerOptions options{.load = load, .max_connections = 2};
  const ServerThread left(echo, options);
  const ServerThread right(echo, options);
  std::vector<Peer> peers;
  for (int i = 0; i < 2; ++i) {
    peers.push_back(Peer::connect(left.port()));
    peers.back().send(kGet);
    peers.back().read_until("GET /a ");
  }
  CHECK(status_of(Peer::connect(right.port()).read_all()) == "503");
  peers.clear();
  REQUIRE(comes_to_be([&] { return load->connections == 0; }));
  CHECK(status_of(answer_to(right, kGet)) == "200");
}

TEST_CASE("limits can be changed while the server runs") {
  ServerThread server(echo);
  CHECK(status_of(answer_to(server, post_of(3) + "abc")) == "200");
  server.on_loop([](Server& it) { it.configure({.max_body_bytes = 2}); });
  CHECK(status_of(answer_to(server, post_of(3) + "abc")) == "413");
}

TEST_CASE("a server that waits no longer says 503 to those who have seen nothing of an answer") {
  std::atomic<int> handled = 0;
  ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    ++handled;
    if (exchange.request().target != "/a") co_await exchange.begin(200, {});
    co_await wait(exchange);
  });
  Peer waiting = Peer::connect(server.port());
  waiting.send(kGet);
  Peer streaming = Peer::connect(server.port());
  streaming.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  streaming.read_until("\r\n\r\n");
  Peer sending = Peer::connect(server.port());
  sending.send("GET /a HTT");
  REQUIRE(comes_to_be([&] { return handled == 2; }));
  server.on_loop([](Server& it) {
    it.stop();
    it.abandon();
  });

  const std::string told = waiting.read_all();
  CHECK(status_of(told) == "503");
  CHECK(told.contains("retry-after: "));
  CHECK(told.contains("connection: close\r\n"));
  CHECK(streaming.read_all() == "");
  CHECK(comes_to_be([&] {
    std::size_t connections = 1;
    server.on_loop([&](Server& it) { connections = it.connections(); });
    return connections == 0;
  }));
}
