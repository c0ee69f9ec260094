#include "treaty/api/access.h"

#include <doctest/doctest.h>

#include <array>

namespace treaty::api {
namespace {

// SHA-256 of "key-of-acme" and "key-of-umbra".
std::array<ApiKey, 2> two_keys() {
  return {{{"acme", "689febd264f8b977e29c0fdb75f839eb248ba07d1561b14f2b95f42756943245"},
           {"umbra", "2c274af9665f7328ed8de85abe07e793a4ac28ce2a9dea8ac9063d5681979d58"}}};
}

Headers bearer(std::string_view key) { return {{"authorization", "Bearer " + std::string(key)}}; }

TEST_CASE("without keys everybody is the tenant local") {
  CHECK(tenant_of({}, {}) == "local");
  CHECK(tenant_of(bearer("anything"), {}) == "local");
}

TEST_CASE("a key tells its tenant, as a bearer token and as X-Api-Key") {
  const auto keys = two_keys();

  CHECK(tenant_of(bearer("key-of-acme"), keys) == "acme");
  CHECK(tenant_of(bearer("key-of-umbra"), keys) == "umbra");
  CHECK(tenant_of({{"authorization", "bearer  key-of-umbra"}}, keys) == "umbra");
  CHECK(tenant_of({{"x-api-key", "key-of-acme"}}, keys) == "acme");
}

TEST_CASE("no key, a wrong key and another scheme are unauthenticated") {
  const auto keys = two_keys();
  const std::array<Headers, 5> wrong = {Headers{}, bearer("key-of-nobody"), bearer(""),
                                        Headers{{"authorization", "Basic a2V5LW9mLWFjbWU="}},
                                        Headers{{"x-api-key", keys[0].sha256}}};
  for (const Headers& headers : wrong) {
    const auto tenant = tenant_of(headers, keys);

    REQUIRE(!tenant);
    CHECK(tenant.error().reason == turns::Reason::unauthenticated);
  }
}

TEST_CASE("hosts of this machine are loopback, whatever their port") {
  for (const std::string_view host :
       {"localhost", "LOCALHOST:8088", "app.localhost", "127.0.0.1", "127.0.0.1:1", "127.255.0.9",
        "[::1]", "[::1]:8088", "localhost."}) {
    CAPTURE(host);
    CHECK(is_loopback_host(host));
  }
}

TEST_CASE("other hosts are not, however much they look like it") {
  for (const std::string_view host :
       {"", "example.com", "localhost.example.com", "127.0.0.1.example.com", "127.1", "128.0.0.1",
        "127.0.0.1x", "[::2]", "[::1]x", "notlocalhost", "0.0.0.0", "127...", "[", "[::1",
        "localhost:evil.example", "localhost:80:90", "127.0.0.1:x", "[::1]:80.example"}) {
    CAPTURE(host);
    CHECK(!is_loopback_host(host));
  }
}

TEST_CASE("names that no web site can have are let in") {
  for (const std::string_view host : {"treaty", "treaty:8088", "10.0.0.1", "[2001:db8::1]", ""}) {
    CAPTURE(host);
    CHECK(refuse_web_pages({{"host", host}}));
  }
}

TEST_CASE("a web page of another site is refused, by its origin and by its name for us") {
  CHECK(refuse_web_pages({{"host", "127.0.0.1:8088"}}));
  CHECK(refuse_web_pages({{"host", "localhost"}, {"origin", "http://localhost:3000"}}));
  const std::array<Headers, 6> refused = {
      Headers{{"host", "localhost:evil.example"}},
      Headers{{"host", "localhost"}, {"origin", "http://localhost:evil.example"}},
      Headers{{"host", "evil.example"}},
      Headers{{"host", "localhost"}, {"origin", "https://evil.example"}},
      Headers{{"host", "localhost"}, {"origin", "null"}},
      Headers{{"host", "localhost"}, {"origin", "https://localhost.evil.example"}}};
  for (const Headers& headers : refused) {
    const auto allowed = refuse_web_pages(headers);

    REQUIRE(!allowed);
    CHECK(allowed.error().reason == turns::Reason::forbidden);
  }
}

}  // namespace
}  // namespace treaty::api
