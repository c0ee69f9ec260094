#include "treaty/http/net/tls.h"

#include <doctest/doctest.h>

#include <future>

#include "treaty/testing/fetching.h"
#include "treaty/testing/loopback.h"
#include "treaty/testing/tls_server.h"

using namespace treaty;
using namespace treaty::http;
using testing::Certificate;
using testing::Fetcher;
using testing::local_url;
using testing::Peer;
using testing::ScriptedServer;
using testing::TlsPeer;
using testing::with_tls;

namespace {

const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

void answer_ok(TlsPeer& peer) {
  peer.read_request();
  peer.send(kOk);
}

ClientOptions trusted(const Certificate& certificate) {
  return {.ca_file = certificate.file(), .proxy_from_environment = false};
}

FetchFailure failure_of(const ScriptedServer& server, ClientOptions options) {
  const auto answer = Fetcher(std::move(options)).fetch(local_url(server.port(), "/", true));
  return answer ? FetchFailure{FailureKind::malformed, "no failure"} : answer.error();
}

}  // namespace

TEST_CASE("a certificate of ca_file is trusted for the address it names, and SNI is for names") {
  const Certificate certificate("DNS:localhost,IP:127.0.0.1");
  std::promise<std::string> by_address;
  std::promise<std::string> by_name;
  const auto telling = [](std::promise<std::string>& name) {
    return [&name](TlsPeer& peer) {
      name.set_value(peer.server_name());
      answer_ok(peer);
    };
  };
  const ScriptedServer server(
      {with_tls(certificate, telling(by_address)), with_tls(certificate, telling(by_name))});
  Fetcher fetcher(trusted(certificate));
  CHECK(fetcher.fetch(local_url(server.port(), "/", true)).value().body == "ok");
  Url named = local_url(server.port(), "/", true);
  named.host = "localhost";
  CHECK(fetcher.fetch(named).value().body == "ok");
  CHECK(by_address.get_future().get() == "");
  CHECK(by_name.get_future().get() == "localhost");
}

TEST_CASE("a TLS connection is used again") {
  const Certificate certificate("IP:127.0.0.1");
  const ScriptedServer server({with_tls(certificate, [](TlsPeer& peer) {
    answer_ok(peer);
    answer_ok(peer);
  })});
  Fetcher fetcher(trusted(certificate));
  CHECK(fetcher.fetch(local_url(server.port(), "/", true)).value().body == "ok");
  CHECK(fetcher.fetch(local_url(server.port(), "/", true)).value().body == "ok");
}

TEST_CASE(
    "a kept TLS connection that the server has closed is replaced before a request is written") {
  for (const bool says_goodbye : {true, false}) {
    const Certificate certificate("IP:127.0.0.1");
    std::promise<void> closed;
    const auto closing = with_tls(certificate, [&](TlsPeer& peer) {
      answer_ok(peer);
      if (says_goodbye) peer.say_goodbye();
    });
    const ScriptedServer server({[&](Peer& peer) {
                                   closing(peer);
                                   peer.close();
                                   closed.set_value();
                                 },
                                 with_tls(certificate, answer_ok)});
    Fetcher fetcher(trusted(certificate));
    CHECK(fetcher.fetch(local_url(server.port(), "/", true)).value().body == "ok");
    closed.get_future().wait();

    CHECK(fetcher.fetch(local_url(server.port(), "/", true)).value().body == "ok");
  }
}

TEST_CASE("a large answer arrives whole over TLS") {
  const Certificate certificate("IP:127.0.0.1");
  const std::string body(1'000'000, 'x');
  const ScriptedServer server({with_tls(certificate, [&](TlsPeer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + body);
  })});
  CHECK(Fetcher(trusted(certificate)).fetch(local_url(server.port(), "/", true)).value().body ==
        body);
}

TEST_CASE("a certificate that nobody vouches for is refused") {
  const Certificate certificate("IP:127.0.0.1");
  const ScriptedServer server({with_tls(certificate, answer_ok)});
  const FetchFailure failure = failure_of(server, {.proxy_from_environment = false});
  CHECK(failure.kind == FailureKind::tls);
  CHECK(failure.message == "the certificate of 127.0.0.1 does not verify: self-signed certificate");
}

TEST_CASE("a certificate for somebody else is refused") {
  const Certificate certificate("DNS:other.example,IP:127.0.0.2");
  const ScriptedServer server({with_tls(certificate, answer_ok), with_tls(certificate, answer_ok)});
  const FetchFailure by_address = failure_of(server, trusted(certificate));
  CHECK(by_address.kind == FailureKind::tls);
  CHECK(by_address.message == "the certificate of 127.0.0.1 does not verify: IP address mismatch");

  Url named = local_url(server.port(), "/", true);
  named.host = "localhost";
  const auto by_name = Fetcher(trusted(certificate)).fetch(named);
  REQUIRE(!by_name);
  CHECK(by_name.error().message ==
        "the certificate of localhost does not verify: hostname mismatch");
}

TEST_CASE("a server that does not speak TLS is told apart") {
  const ScriptedServer server({[](Peer& peer) {
    peer.read_some();
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.end_sending();
    peer.read_all();
  }});
  const FetchFailure failure = failure_of(server, {.proxy_from_environment = false});
  CHECK(failure.kind == FailureKind::tls);
  CHECK(failure.message == "127.0.0.1 does not speak TLS on this port");
}

TEST_CASE("a file of certificates that cannot be used is named") {
  const ScriptedServer server({[](Peer&) {}});
  const FetchFailure failure =
      failure_of(server, {.ca_file = "/no/such/file", .proxy_from_environment = false});
  CHECK(failure.kind == FailureKind::tls);
  CHECK(failure.message.contains("/no/such/file"));
  Peer::connect(server.port());
}

TEST_CASE("an answer without a length is whole only when TLS was ended in order") {
  const Certificate certificate("IP:127.0.0.1");
  const auto part = [](bool in_order) {
    return [in_order](TlsPeer& peer) {
      peer.read_request();
      peer.send("HTTP/1.1 200 OK\r\n\r\nhalf");
      if (in_order) peer.say_goodbye();
    };
  };
  const ScriptedServer server(
      {with_tls(certificate, part(true)), with_tls(certificate, part(false))});
  Fetcher fetcher(trusted(certificate));
  CHECK(fetcher.fetch(local_url(server.port(), "/", true)).value().body == "half");
  const auto cut = fetcher.fetch(local_url(server.port(), "/", true));
  REQUIRE(!cut);
  CHECK(cut.error().kind == FailureKind::reset);
}

TEST_CASE("a proxy tunnels TLS, with credentials, and its refusal is told") {
  const Certificate certificate("DNS:far.example");
  std::promise<std::string> asked;
  const ScriptedServer proxy({[&](Peer& peer) {
                                asked.set_value(peer.read_until("\r\n\r\n"));
                                peer.send("HTTP/1.1 200 ClientConnection established\r\n\r\n");
                                with_tls(certificate, answer_ok)(peer);
                              },
                              [](Peer& peer) {
                                peer.read_until("\r\n\r\n");
                                peer.send("HTTP/1.1 407 Who are you\r\n\r\n");
                              }});
  ClientOptions options = trusted(certificate);
  options.proxy =
      ProxyVariables{.https_proxy = "http://u:p@127.0.0.1:" + std::to_string(proxy.port())};
  const Url url{.secure = true, .host = "far.example", .port = 443, .target = "/"};
  CHECK(Fetcher(options).fetch(url).value().body == "ok");
  const std::string request = asked.get_future().get();
  CHECK(request.starts_with("CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n"));
  CHECK(request.contains("Proxy-Authorization: Basic dTpw\r\n"));

  const auto refused = Fetcher(options).fetch(url);
  REQUIRE(!refused);
  CHECK(refused.error().kind == FailureKind::refused);
  CHECK(refused.error().message == "the proxy 127.0.0.1:" + std::to_string(proxy.port()) +
                                       " refused the way to far.example:443: status 407");
}
