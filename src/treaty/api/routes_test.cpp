#include "treaty/api/routes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "treaty/api/target.h"

namespace treaty::api {
namespace {

const Route* route_at(std::string_view target) {
  return find_path(Target::parse(target)->segments());
}

TEST_CASE("every route is found at its own path") {
  for (const Route& route : routes()) {
    CAPTURE(route.path);
    std::string path(route.path);
    for (std::size_t at = path.find("{}"); at != std::string::npos; at = path.find("{}")) {
      path.replace(at, 2, "a%2Fb");
    }
    const Route* found = route_at("/" + path);

    REQUIRE(found != nullptr);
    CHECK(found->path == route.path);
    CHECK(find_method(*found, route.method) == &route);
  }
}

TEST_CASE("both addresses of execute are the same endpoint") {
  CHECK(route_at("/v1/agent/execute")->handler == route_at("/api/ai/agent/execute")->handler);
}

TEST_CASE("what is not a route is found nowhere") {
  for (const std::string_view target :
       {"/", "/v1", "/v1/", "/v1/sessions/", "/v1/sessions//turns", "/v1/sessions/s/turns/",
        "/v1/sessions/s/turns/t/stream/x", "/healthz/", "/V1/sessions", "/schemas"}) {
    CAPTURE(target);
    CHECK(route_at(target) == nullptr);
  }
}

TEST_CASE("the client's segments are handed out in order, decoded") {
  const auto target = Target::parse("/v1/sessions/my%20room/turns/turn%2F7/stream");
  const Route* route = find_path(target->segments());

  REQUIRE(route != nullptr);
  CHECK(names_in(*route, target->segments()) == std::vector<std::string>{"my room", "turn/7"});
}

TEST_CASE("a path takes the methods of its rows and no others, and HEAD where it takes GET") {
  const Route* sessions = route_at("/v1/sessions");

  CHECK(find_method(*sessions, "GET")->method == "GET");
  CHECK(find_method(*sessions, "HEAD")->method == "GET");
  CHECK(find_method(*sessions, "POST")->method == "POST");
  for (const std::string_view method : {"DELETE", "get", "", "GET, HEAD", "OPTIONS"}) {
    CHECK(find_method(*sessions, method) == nullptr);
  }
  CHECK(methods_at(*sessions) == "GET, HEAD, POST, OPTIONS");
  CHECK(methods_at(*route_at("/v1/sessions/s")) == "GET, HEAD, DELETE, OPTIONS");
  CHECK(methods_at(*route_at("/v1/agent/execute")) == "POST, OPTIONS");
  CHECK(methods_at(*route_at("/healthz")) == "GET, HEAD, OPTIONS");
}

TEST_CASE("a path is listed once, with all its methods") {
  const std::string all = addresses();

  CHECK(all.contains("\n/v1/sessions: GET, HEAD, POST, OPTIONS\n"));
  CHECK(all.contains("\n/v1/sessions/ID: GET, HEAD, DELETE, OPTIONS\n"));
  CHECK(all.starts_with("/v1/agent/execute: POST, OPTIONS\n"));
}

TEST_CASE("only health, readiness, version and schemas need no key") {
  const auto open = std::ranges::count_if(routes(), &Route::is_open);

  CHECK(open == 4);
  CHECK(route_at("/healthz")->is_open);
  CHECK(route_at("/readyz")->is_open);
  CHECK(route_at("/version")->is_open);
  CHECK(route_at("/schemas/request.json")->is_open);
}

}  // namespace
}  // namespace treaty::api
