#include "treaty/config/addresses.h"

#include <doctest/doctest.h>

#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

std::string listen_fault(std::string_view text) {
  const auto listen = parse_listen(text);
  return listen ? "" : listen.error().message;
}

TEST_CASE("an address that others can reach needs keys, loopback does not") {
  for (const char* far : {"0.0.0.0", "::", "192.168.1.7", "fe80::1", "::ffff:0.0.0.0"}) {
    CHECK(find_open_door({far, 8088}, false).has_value());
    CHECK(!find_open_door({far, 8088}, true).has_value());
  }
  for (const char* near : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    CHECK(!find_open_door({near, 8088}, false).has_value());
  }
}

TEST_CASE("An address to listen on is an IP address and a port") {
  CHECK(parse_listen("127.0.0.1:8088") == Listen{"127.0.0.1", 8088});
  CHECK(parse_listen(" 0.0.0.0:0 ") == Listen{"0.0.0.0", 0});
  CHECK(parse_listen("[::1]:8088") == Listen{"::1", 8088});
  CHECK(parse_listen("localhost:65535") == Listen{"127.0.0.1", 65535});
}

TEST_CASE("What is no address to listen on is refused with its reason") {
  CHECK(listen_fault("127.0.0.1") == "the address to listen on lacks its port");
  CHECK(listen_fault("[::1]") == "the address to listen on lacks its port");
  CHECK(listen_fault("") == "the address to listen on lacks its port");
  CHECK(listen_fault("127.0.0.1:") == "the port to listen on is not a number from 0 to 65535");
  CHECK(listen_fault("127.0.0.1:65536") == "the port to listen on is not a number from 0 to 65535");
  CHECK(listen_fault("127.0.0.1:80x") == "the port to listen on is not a number from 0 to 65535");
  CHECK(listen_fault("::1:8088") == "an IPv6 address to listen on stands in brackets");
  CHECK(listen_fault("example.com:80") == "the address to listen on is not an IP address");
  CHECK(listen_fault(":80") == "the address to listen on is not an IP address");
  CHECK(listen_fault("[127.0.0.1]:80") == "the address to listen on is not an IP address");
}

TEST_CASE("Only the machine itself reaches a loopback address") {
  for (const char* near : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    CHECK(is_loopback({near, 1}));
  }
  for (const char* far : {"0.0.0.0", "10.0.0.1", "::", "fe80::1", "::ffff:10.0.0.1", "no"}) {
    CHECK(!is_loopback({far, 1}));
  }
}

TEST_CASE("An address is written as it is read") {
  CHECK(text_of(Listen{"::1", 8088}) == "[::1]:8088");
  CHECK(text_of(Listen{"127.0.0.1", 0}) == "127.0.0.1:0");
}

std::string store(std::string_view text, const testing::Given& given = {}) {
  const auto parsed = parse_store(text, "/etc/treaty", given.sources());
  return parsed ? *parsed : parsed.error().message;
}

TEST_CASE("A store is a file of SQLite, absolute or relative to the configuration") {
  CHECK(store("sqlite:///var/lib/treaty.db") == "sqlite:///var/lib/treaty.db");
  CHECK(store("sqlite:/var/lib/treaty.db") == "sqlite:///var/lib/treaty.db");
  CHECK(store("sqlite:data/../treaty.db") == "sqlite:///etc/treaty/treaty.db");
  CHECK(store("sqlite") == "sqlite:///home/ada/.local/state/treaty/treaty.db");
}

TEST_CASE("What is no store is refused with its reason") {
  CHECK(store("postgres://user:secret@host/db") == "stores in PostgreSQL are not supported yet");
  CHECK(store("mysql://host") == "the store is not one that is known");
  CHECK(store("sqlite://treaty.db") == "the store's address has a host; it is a file");
  CHECK(store("sqlite:") == "the store's address names no file");
  CHECK(store("sqlite:///var/lib/") == "the store's address names no file");
  CHECK(store("sqlite::memory:") == "the store's address names no file");
}

TEST_CASE("The state directory is that of the flag, of XDG or of the home") {
  CHECK(store("sqlite", {.environment = {{"XDG_STATE_HOME", "/state"}}}) ==
        "sqlite:///state/treaty/treaty.db");
  CHECK(store("sqlite", {.environment = {{"XDG_STATE_HOME", "relative"}}}) ==
        "sqlite:///home/ada/.local/state/treaty/treaty.db");
  CHECK(store("sqlite", {.flags = {.state_dir = "mine"}}) == "sqlite:///work/mine/treaty.db");
  CHECK(store("sqlite", {.flags = {.state_dir = " "}}) == "the state directory is blank");
  CHECK(
      store("sqlite", {.environment = {{"HOME", ""}}}).contains("neither XDG_STATE_HOME nor HOME"));
}

}  // namespace
}  // namespace treaty::config
