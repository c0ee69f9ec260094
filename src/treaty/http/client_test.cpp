#include "treaty/http/client.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "treaty/testing/fetching.h"
#include "treaty/testing/loopback.h"

using namespace treaty;
using namespace treaty::http;
using namespace std::chrono_literals;
using boost::asio::awaitable;
using testing::Fetcher;
using testing::local_url;
using testing::Peer;
using testing::ScriptedServer;
using testing::ServerThread;

namespace {

ScriptedServer::Step answers(std::string bytes) {
  return [bytes = std::move(bytes)](Peer& peer) {
    peer.read_request();
    peer.send(bytes);
  };
}

// Holds the connection open, saying nothing more, until the client has gone.
ScriptedServer::Step stalls_after(std::string bytes) {
  return [bytes = std::move(bytes)](Peer& peer) {
    peer.read_request();
    peer.send(bytes);
    peer.read_all();
  };
}

FetchFailure failure_of(const std::vector<ScriptedServer::Step>& script,
                        FetchOptions options = {}) {
  const ScriptedServer server(script);
  const auto answer = Fetcher().fetch(local_url(server.port()), {}, options);
  return answer ? FetchFailure{FailureKind::malformed, "no failure: " + answer->body}
                : answer.error();
}

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace

TEST_CASE("a request arrives as it was meant, and so does the answer") {
  std::promise<Request> seen;
  const ServerThread server([&](Exchange& exchange) -> awaitable<void> {
    seen.set_value(exchange.request());
    co_await exchange.respond({.status = 429, .headers = {{"retry-after", "7"}}, .body = "slow"});
  });
  const auto answer =
      Fetcher().fetch(local_url(server.port(), "/v1/x?y=1"),
                      {.method = "POST", .headers = {{"authorization", "Bearer k"}}, .body = "{}"});
  const Request request = seen.get_future().get();

  REQUIRE(answer);
  CHECK(answer->status == 429);
  CHECK(answer->headers.get("retry-after") == "7");
  CHECK(answer->body == "slow");
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/x?y=1");
  CHECK(request.body == "{}");
  CHECK(request.headers.get("authorization") == "Bearer k");
  CHECK(request.headers.get("host") == "127.0.0.1:" + std::to_string(server.port()));
  CHECK(request.headers.get("content-length") == "2");
  CHECK(request.headers.get("accept-encoding") == "gzip, deflate");
}

TEST_CASE("a chunked answer with a trailer is one body") {
  const ScriptedServer server({[](Peer& peer) {
    peer.read_request();
    const std::string bytes =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n00a;x=y\r\n0123456789\r\n0\r\nX-Trailer: t\r\n\r\n";
    for (const char c : bytes) peer.send(std::string_view(&c, 1));
  }});
  const auto answer = Fetcher().fetch(local_url(server.port()));
  REQUIRE(answer);
  CHECK(answer->body == "abc0123456789");
  CHECK(answer->headers.find("x-trailer") == nullptr);
}

TEST_CASE("an answer without a length ends with its connection") {
  const ScriptedServer server({answers("HTTP/1.1 200 OK\r\n\r\nall of it")});
  CHECK(Fetcher().fetch(local_url(server.port())).value().body == "all of it");
}

TEST_CASE("answers to HEAD, and 204 and 304, have no body") {
  const std::string length = "Content-Length: 5\r\n\r\n";
  const ScriptedServer server({stalls_after("HTTP/1.1 200 OK\r\n" + length),
                               stalls_after("HTTP/1.1 204 No Content\r\n\r\n"),
                               stalls_after("HTTP/1.1 304 Not Modified\r\n" + length)});
  for (const char* method : {"HEAD", "GET", "GET"}) {
    Fetcher fetcher;
    const auto answer = fetcher.fetch(local_url(server.port()), {.method = method});
    REQUIRE(answer);
    CHECK(answer->body == "");
  }
}

TEST_CASE("a redirect is an answer like another") {
  const ScriptedServer server({answers(
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")});
  CHECK(Fetcher().fetch(local_url(server.port())).value().status == 302);
}

TEST_CASE("a request on a kept connection that breaks without an answer is not sent again") {
  for (const bool resets : {false, true}) {
    std::atomic<int> requests = 0;
    const ScriptedServer server({[&](Peer& peer) {
                                   peer.read_request();
                                   peer.send(kOk);
                                   if (!peer.read_request().empty()) ++requests;
                                   resets ? peer.reset() : peer.close();
                                 },
                                 answers(kOk)});
    Fetcher fetcher;
    REQUIRE(fetcher.fetch(local_url(server.port())));

    const auto lost =
        fetcher.fetch(local_url(server.port()), {.method = "POST", .body = "buy one"});

    REQUIRE(!lost);
    CHECK(lost.error().kind == FailureKind::reset);
    CHECK(requests == 1);
    CHECK(fetcher.fetch(local_url(server.port())).value().body == "ok");
  }
}

TEST_CASE("a kept connection that the server has closed is replaced before a request is written") {
  for (const bool resets : {false, true}) {
    std::promise<void> closed;
    const ScriptedServer server({[&](Peer& peer) {
                                   peer.read_request();
                                   peer.send(kOk);
                                   peer.read_request();
                                   peer.send(kOk);
                                   resets ? peer.reset() : peer.close();
                                   closed.set_value();
                                 },
                                 answers(kOk)});
    Fetcher fetcher;
    CHECK(fetcher.fetch(local_url(server.port())).value().body == "ok");
    CHECK(fetcher.fetch(local_url(server.port())).value().body == "ok");
    closed.get_future().wait();

    CHECK(fetcher.fetch(local_url(server.port()), {.method = "POST"}).value().body == "ok");
  }
}

TEST_CASE("a fresh connection that closes without an answer is not tried again") {
  const FetchFailure failure = failure_of({answers(""), answers(kOk)});
  CHECK(failure.kind == FailureKind::reset);
  CHECK(failure.message == "the connection was closed without an answer");
}

TEST_CASE("a connection is not used again after close, leftover bytes or HTTP/1.0") {
  for (const std::string& bytes :
       {std::string("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        kOk + "HTTP/1.1 200 OK", std::string("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")}) {
    std::promise<std::string> after;  // What came on the first connection behind its answer.
    const ScriptedServer server({[&](Peer& peer) {
                                   peer.read_request();
                                   peer.send(bytes);
                                   after.set_value(peer.read_some());
                                 },
                                 answers(kOk)});
    Fetcher fetcher;

    CHECK(fetcher.fetch(local_url(server.port())));
    CHECK(fetcher.fetch(local_url(server.port()), {}, {.timeouts = {.first_byte = 5s}}));
    CHECK(after.get_future().get() == "");
  }
}

TEST_CASE("a sink that has enough ends the fetch well") {
  struct Sink final : ResponseSink {
    int pieces = 0;
    void on_head(const Response&) override {}
    bool on_body(std::string_view) override { return ++pieces < 1; }
  };
  const ScriptedServer server({stalls_after("HTTP/1.1 200 OK\r\n\r\nendless")});
  Fetcher fetcher;
  Sink sink;
  bool ended_well = false;
  const Url url = local_url(server.port());
  boost::asio::co_spawn(
      fetcher.context(), fetcher.client().fetch(url, {}, {}, sink),
      [&](const std::exception_ptr&, auto outcome) { ended_well = outcome.has_value(); });
  fetcher.context().run();
  CHECK(ended_well);
  CHECK(sink.pieces == 1);
}

TEST_CASE("who refuses and who resets is told") {
  const auto port = testing::closed_port();
  const auto refused = Fetcher().fetch(local_url(port));
  REQUIRE(!refused);
  CHECK(refused.error().kind == FailureKind::refused);
  CHECK(refused.error().message == "connection refused by 127.0.0.1:" + std::to_string(port));

  const FetchFailure reset = failure_of({[](Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab");
    peer.reset();
  }});
  CHECK(reset.kind == FailureKind::reset);
}

TEST_CASE("each timeout has its name") {
  const auto message = [](Timeouts timeouts, const std::string& bytes) {
    const FetchFailure failure = failure_of({stalls_after(bytes)}, {.timeouts = timeouts});
    CHECK(failure.kind == FailureKind::timeout);
    return failure.message;
  };
  const std::string part = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab";
  CHECK(message({.first_byte = 50ms}, "") == "no answer within 0.05 s (first byte)");
  CHECK(message({.first_byte = 50ms}, "HTTP/1.1 200") == "no answer within 0.05 s (first byte)");
  CHECK(message({.idle = 50ms}, part) == "nothing moved for 0.05 s (idle)");
  CHECK(message({.total = 50ms}, part) == "the answer was not whole within 0.05 s (total)");

  // A server that never answers the handshake has not been connected to.
  const ScriptedServer silent({[](Peer& peer) { peer.read_all(); }});
  const auto answer =
      Fetcher().fetch(local_url(silent.port(), "/", true), {}, {.timeouts = {.connect = 50ms}});
  REQUIRE(!answer);
  CHECK(answer.error().kind == FailureKind::timeout);
  CHECK(answer.error().message ==
        "no connection to 127.0.0.1:" + std::to_string(silent.port()) + " within 0.05 s (connect)");
}

TEST_CASE("a drip that never ends is stopped by the total timeout") {
  const FetchFailure failure =
      failure_of({[](Peer& peer) {
                   peer.read_request();
                   peer.send("HTTP/1.1 200 OK\r\n\r\n");
                   timeval pause{.tv_sec = 0, .tv_usec = 2000};
                   setsockopt(peer.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
                   for (char c = 0; recv(peer.descriptor(), &c, 1, 0) < 0;) peer.send("x");
                 }},
                 {.timeouts = {.idle = 5s, .total = 80ms}});
  CHECK(failure.message == "the answer was not whole within 0.08 s (total)");
}

TEST_CASE("bytes that are no piece of an answer do not keep a fetch alive") {
  struct Sink final : ResponseSink {
    void on_head(const Response&) override {}
    bool on_body(std::string_view bytes) override {
      if (bytes.contains('!')) ++counted;
      return true;
    }
    std::size_t pieces() const override { return counted; }
    std::size_t counted = 0;
  };
  const auto drips = [](const std::string& first) {
    return [first](Peer& peer) {
      peer.read_request();
      peer.send("HTTP/1.1 200 OK\r\n\r\n" + first);
      timeval pause{.tv_sec = 0, .tv_usec = 2000};
      setsockopt(peer.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof pause);
      for (char c = 0; recv(peer.descriptor(), &c, 1, 0) < 0;) peer.send(".");
    };
  };
  const auto failure_after = [&](const std::string& first) {
    const ScriptedServer server({drips(first)});
    Fetcher fetcher;
    Sink sink;
    std::optional<FetchFailure> failure;
    const Url url = local_url(server.port());
    boost::asio::co_spawn(
        fetcher.context(),
        fetcher.client().fetch(url, {}, {.timeouts = {.first_piece = 60ms, .stall = 50ms}}, sink),
        [&](const std::exception_ptr&, auto outcome) {
          if (!outcome) failure = outcome.error();
        });
    fetcher.context().run();
    REQUIRE(failure);
    return *failure;
  };

  const FetchFailure silent = failure_after("");
  CHECK(silent.timeout == Timeout::first_piece);
  CHECK(silent.message == "no piece of the answer came within 0.06 s");

  const FetchFailure stalled = failure_after("!");
  CHECK(stalled.timeout == Timeout::stall);
  CHECK(stalled.message == "the answer stopped: no further piece of it came for 0.05 s");
}

TEST_CASE("a cancelled fetch closes its connection and says so") {
  std::promise<void> arrived;
  std::promise<std::string> rest;
  const ScriptedServer server({[&](Peer& peer) {
    peer.read_request();
    arrived.set_value();
    rest.set_value(peer.read_all());
  }});
  Fetcher fetcher;
  boost::asio::cancellation_signal signal;
  std::optional<FetchFailure> failure;
  const Url url = local_url(server.port());
  boost::asio::co_spawn(fetcher.context(), fetcher.client().fetch_all(url, {}),
                        boost::asio::bind_cancellation_slot(
                            signal.slot(), [&](const std::exception_ptr&, auto outcome) {
                              if (!outcome) failure = outcome.error();
                            }));
  std::thread canceller([&] {
    arrived.get_future().wait();
    boost::asio::post(fetcher.context(),
                      [&] { signal.emit(boost::asio::cancellation_type::terminal); });
  });
  fetcher.context().run();
  canceller.join();

  REQUIRE(failure);
  CHECK(failure->kind == FailureKind::cancelled);
  CHECK(rest.get_future().get() == "");
}

TEST_CASE("what cannot be sent is refused before anything is sent, and no secret is repeated") {
  Fetcher fetcher;
  const Url url = local_url(1);
  const auto broken = fetcher.fetch(url, {.headers = {{"authorization", "Bearer sec\nret"}}});
  REQUIRE(!broken);
  CHECK(broken.error().kind == FailureKind::bad_address);
  CHECK(broken.error().message.contains("authorization"));
  CHECK(!broken.error().message.contains("ret"));
  CHECK(!broken.error().message.contains("sec"));
  CHECK(fetcher.fetch(url, {.method = "G T"}).error().kind == FailureKind::bad_address);
  CHECK(fetcher.fetch({}, {}).error().kind == FailureKind::bad_address);
}

TEST_CASE("a name that does not resolve is a bad address, and localhost resolves") {
  Fetcher fetcher;
  Url url = local_url(1);
  url.host = "no-such-host.invalid";
  const auto answer = fetcher.fetch(url);
  REQUIRE(!answer);
  CHECK(answer.error().kind == FailureKind::bad_address);
  CHECK(answer.error().message.starts_with("no-such-host.invalid has no address"));

  const ScriptedServer server({answers(kOk)});
  url.host = "localhost";
  url.port = server.port();
  CHECK(fetcher.fetch(url).value().body == "ok");
}

TEST_CASE("IPv6 is spoken where there is some") {
  const ScriptedServer server({answers(kOk)}, "::1");
  if (!server.is_listening()) return;
  Url url = local_url(server.port());
  url.host = "::1";
  CHECK(Fetcher().fetch(url).value().body == "ok");
}

TEST_CASE("plain HTTP goes through its proxy with the whole address, unless NO_PROXY names it") {
  std::promise<std::string> seen;
  const ScriptedServer proxy({[&](Peer& peer) {
    seen.set_value(peer.read_request());
    peer.send(kOk);
  }});
  const std::string address = "u:p@127.0.0.1:" + std::to_string(proxy.port());
  Fetcher fetcher({.proxy = ProxyVariables{.http_proxy = address, .no_proxy = "127.0.0.1"}});
  const Url far{.host = "far.example", .port = 80, .target = "/x"};
  CHECK(fetcher.fetch(far).value().body == "ok");
  const std::string request = seen.get_future().get();
  CHECK(request.starts_with("GET http://far.example/x HTTP/1.1\r\nHost: far.example\r\n"));
  CHECK(request.contains("Proxy-Authorization: Basic dTpw\r\n"));

  const ScriptedServer direct({answers(kOk)});
  CHECK(fetcher.fetch(local_url(direct.port())).value().body == "ok");
}

TEST_CASE("many fetches run at once") {
  const ServerThread server([](Exchange& exchange) -> awaitable<void> {
    co_await exchange.respond({.body = exchange.request().target});
  });
  Fetcher fetcher;
  int right = 0;
  std::vector<Url> urls;
  urls.reserve(50);
  for (int i = 0; i < 50; ++i) urls.push_back(local_url(server.port(), "/" + std::to_string(i)));
  for (const Url& url : urls) {
    boost::asio::co_spawn(fetcher.context(), fetcher.client().fetch_all(url, {}),
                          [&](const std::exception_ptr&, auto answer) {
                            right += answer && answer->body == url.target ? 1 : 0;
                          });
  }
  fetcher.context().run();
  CHECK(right == 50);
}

TEST_CASE("an answer that comes before the request was read is still an answer") {
  const ScriptedServer server({[](Peer& peer) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    peer.end_sending();
    peer.read_all();
  }});
  const auto answer = Fetcher().fetch(local_url(server.port()),
                                      {.method = "POST", .body = std::string(1U << 22U, 'x')});
  REQUIRE(answer);
  CHECK(answer->status == 413);
}
