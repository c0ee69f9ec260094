#include "treaty/http/net/address_guard.h"

#include <doctest/doctest.h>

#include "treaty/testing/fetching.h"
#include "treaty/testing/loopback.h"

namespace treaty::http {
namespace {

using boost::asio::ip::make_address;

bool is_public_text(const char* text) { return is_public(make_address(text)); }

TEST_CASE("Addresses of the open internet are public") {
  CHECK(is_public_text("1.1.1.1"));
  CHECK(is_public_text("172.15.255.255"));
  CHECK(is_public_text("172.32.0.1"));
  CHECK(is_public_text("223.255.255.255"));
  CHECK(is_public_text("2606:4700:4700::1111"));
  CHECK(is_public_text("::ffff:1.1.1.1"));
  CHECK(is_public_text("64:ff9b::1.1.1.1"));
}

TEST_CASE("S13: loopback, private, link-local and metadata addresses are not public") {
  for (const char* text : {"0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.8.8.8",
                           "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192",
                           "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255"}) {
    CHECK_MESSAGE(!is_public_text(text), text);
  }
  for (const char* text : {"::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
                           "2001:db8::1", "3fff::1", "2001::1", "100::1"}) {
    CHECK_MESSAGE(!is_public_text(text), text);
  }
}

TEST_CASE("S13: an address of IPv4 inside one of IPv6 is judged as what it is") {
  for (const char* text : {"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1",
                           "64:ff9b::10.0.0.1", "2002:7f00:1::", "2002:a00:1::1"}) {
    CHECK_MESSAGE(!is_public_text(text), text);
  }
}

TEST_CASE("What the operator allows is allowed: addresses, networks and hosts") {
  const std::vector<std::string> allowed = {"127.0.0.1", "10.1.0.0/16", "fd00::/8", "Hooks.local"};
  const auto guard = AddressGuard::allowing(allowed);
  REQUIRE(guard);

  CHECK(guard->allows("x", make_address("127.0.0.1")));
  CHECK(guard->allows("x", make_address("::ffff:127.0.0.1")));
  CHECK(!guard->allows("x", make_address("127.0.0.2")));
  CHECK(guard->allows("x", make_address("10.1.255.1")));
  CHECK(!guard->allows("x", make_address("10.2.0.1")));
  CHECK(guard->allows("x", make_address("fd12::1")));
  CHECK(!guard->allows("x", make_address("fe80::1")));
  CHECK(guard->allows("hooks.LOCAL", make_address("192.168.0.1")));
  CHECK(!guard->allows("other.local", make_address("192.168.0.1")));
  CHECK(guard->allows("x", make_address("8.8.8.8")));
}

TEST_CASE("A list that makes no sense is refused with the entry") {
  const auto fault_of = [](const std::string& entry) {
    const std::vector<std::string> one = {entry};
    const auto guard = AddressGuard::allowing(one);
    return guard ? std::string() : guard.error();
  };

  CHECK(fault_of("10.0.0.0/33") == "10.0.0.0/33 is not a network");
  CHECK(fault_of("10.0.0.0/x") == "10.0.0.0/x is not a network");
  CHECK(fault_of("a b").contains("a b"));
  CHECK(fault_of("").contains("neither"));
  CHECK(fault_of("https://x").contains("https://x"));
}

TEST_CASE("S13: a guarded client does not connect to loopback unless it is allowed") {
  const testing::ScriptedServer server({[](testing::Peer& peer) {
    peer.read_request();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }});
  testing::Fetcher guarded({.guard = std::make_shared<const AddressGuard>()});
  testing::Fetcher allowed({.guard = std::make_shared<const AddressGuard>(
                                *AddressGuard::allowing(std::vector<std::string>{"127.0.0.0/8"}))});

  const auto refused = guarded.fetch(testing::local_url(server.port()));
  Url by_name = testing::local_url(server.port());
  by_name.host = "localhost";
  const auto refused_by_name = guarded.fetch(by_name);
  const auto answered = allowed.fetch(testing::local_url(server.port()));

  REQUIRE(!refused);
  CHECK(refused.error().kind == FailureKind::bad_address);
  CHECK(refused.error().message.contains("127.0.0.1 is not a public address"));
  REQUIRE(!refused_by_name);
  CHECK(refused_by_name.error().kind == FailureKind::bad_address);
  REQUIRE(answered);
  CHECK(answered->body == "ok");
}

TEST_CASE("S13: a guarded client asks no proxy, which would look up names itself") {
  testing::Fetcher guarded({.proxy = ProxyVariables{.http_proxy = "http://127.0.0.1:1"},
                            .guard = std::make_shared<const AddressGuard>()});

  const auto refused = guarded.fetch(testing::local_url(testing::closed_port()));

  REQUIRE(!refused);
  CHECK(refused.error().message.contains("is not a public address"));
}

}  // namespace
}  // namespace treaty::http
