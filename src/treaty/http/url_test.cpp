#include "treaty/http/url.h"

#include <doctest/doctest.h>

using namespace treaty::http;

TEST_CASE("an address has a scheme, a host, perhaps a port, and a target") {
  CHECK(parse_url("https://api.example.com/v1/x?y=1").value() ==
        Url{.secure = true, .host = "api.example.com", .port = 443, .target = "/v1/x?y=1"});
  CHECK(parse_url("HTTP://LocalHost:8080").value() ==
        Url{.secure = false, .host = "localhost", .port = 8080, .target = "/"});
  CHECK(parse_url("http://[::1]:81/a").value() ==
        Url{.secure = false, .host = "::1", .port = 81, .target = "/a"});
  CHECK(parse_url("http://127.0.0.1?q").value() ==
        Url{.secure = false, .host = "127.0.0.1", .port = 80, .target = "/?q"});
}

TEST_CASE("host and port are taken apart, and nothing that is neither passes") {
  const auto told = [](std::string_view text) {
    const auto authority = parse_authority(text);
    return authority ? std::string(authority->host) + "|" + std::string(authority->port) : "none";
  };
  CHECK(told("localhost") == "localhost|");
  CHECK(told("localhost:") == "localhost|");
  CHECK(told("Host.example:8088") == "Host.example|8088");
  CHECK(told("[::1]") == "[::1]|");
  CHECK(told("[::1]:80") == "[::1]|80");
  for (const std::string_view text :
       {"", ":80", "localhost:evil.example", "localhost:80:90", "localhost:+1", "localhost:123456",
        "a b", "a/b", "u@a", "::1", "[::1", "[::1]x", "[]", "[a.b]", "a,b", "a#"}) {
    CAPTURE(text);
    CHECK(told(text) == "none");
  }
}

TEST_CASE("what is no address of an HTTP server is refused, and the secret in it is not repeated") {
  for (const char* text : {"",
                           "example.com",
                           "ftp://a",
                           "http://",
                           "http:///a",
                           "http://a:0",
                           "http://a:65536",
                           "http://a:8x",
                           "http://a:",
                           "http://[::1",
                           "http://[a]",
                           "http://[::1]x",
                           "http://a b/",
                           "http://a/\n",
                           "http://a/#f",
                           "http://a/\xC3\xA9",
                           "http://u:secret@a/",
                           "http://::1/",
                           "http://a,b/",
                           "http://a:1:2/"}) {
    CAPTURE(text);
    const auto url = parse_url(text);
    REQUIRE(!url);
    CHECK(!url.error().message.contains("secret"));
  }
}
