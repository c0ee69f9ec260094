#include "treaty/http/proxy.h"

#include <doctest/doctest.h>

using namespace treaty::http;

namespace {

Url url(const char* text) { return parse_url(text).value(); }

bool is_direct(const char* no_proxy, const char* address) {
  const ProxyVariables variables{
      .https_proxy = "http://p:1", .http_proxy = "p:1", .no_proxy = no_proxy};
  return !proxy_for(url(address), variables).value();
}

}  // namespace

TEST_CASE("each scheme has its own proxy, and credentials become a header") {
  const ProxyVariables variables{.https_proxy = "http://us%3Aer:pass@proxy.example:3128/",
                                 .http_proxy = "10.0.0.1:8080"};
  CHECK(proxy_for(url("https://a/"), variables).value() ==
        Proxy{.host = "proxy.example", .port = 3128, .authorization = "Basic dXM6ZXI6cGFzcw=="});
  CHECK(proxy_for(url("http://a/"), variables).value() == Proxy{.host = "10.0.0.1", .port = 8080});
  CHECK(!proxy_for(url("http://a/"), {}).value());
}

TEST_CASE("NO_PROXY names hosts, suffixes, ports, addresses and networks") {
  CHECK(is_direct("*", "https://a.example/"));
  CHECK(is_direct("x, a.example", "https://a.example/"));
  CHECK(is_direct("example", "https://a.example/"));
  CHECK(is_direct(".example", "https://a.example/"));
  CHECK(is_direct("*.example", "https://a.example/"));
  CHECK(is_direct("A.EXAMPLE:443", "https://a.example/"));
  CHECK(is_direct("127.0.0.1", "http://127.0.0.1:8080/"));
  CHECK(is_direct("127.0.0.0/8", "http://127.0.0.1:8080/"));
  CHECK(is_direct("[::1]:81", "http://[::1]:81/"));
  CHECK(is_direct("::1", "http://[::1]:81/"));
  CHECK(is_direct("fd00::/8", "http://[fd12::1]/"));

  CHECK(!is_direct("", "https://a.example/"));
  CHECK(!is_direct("ample", "https://a.example/"));
  CHECK(!is_direct("b.example", "https://a.example/"));
  CHECK(!is_direct("a.example:8443", "https://a.example/"));
  CHECK(!is_direct("10.0.0.0/8", "http://127.0.0.1/"));
  CHECK(!is_direct("7.0.0.1", "http://127.0.0.1/"));
  CHECK(!is_direct("10.0.0.0/99", "http://10.0.0.1/"));
}

TEST_CASE("a proxy that cannot be used is an error that does not repeat the variable") {
  for (const char* text : {"socks5://secret", "http://", "secret:99999", "https://secret:1"}) {
    const auto proxy = proxy_for(url("https://a/"), {.https_proxy = text});
    REQUIRE(!proxy);
    CHECK(proxy.error().message ==
          "HTTPS_PROXY is not the address of a proxy: write http://HOST:PORT");
  }
}
