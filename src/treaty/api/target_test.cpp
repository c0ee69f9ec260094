#include "treaty/api/target.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/testing/generators.h"

namespace treaty::api {
namespace {

using Segments = std::vector<std::string>;

TEST_CASE("a target is split at its slashes before it is decoded") {
  const auto target = Target::parse("/v1/sessions/s%201/turns/turn%2F7");

  REQUIRE(target);
  CHECK(target->segments() == Segments{"v1", "sessions", "s 1", "turns", "turn/7"});
}

TEST_CASE("a slash at the end is an empty segment, and so are two in a row") {
  CHECK(Target::parse("/v1/")->segments() == Segments{"v1", ""});
  CHECK(Target::parse("/v1//x")->segments() == Segments{"v1", "", "x"});
  CHECK(Target::parse("/")->segments() == Segments{""});
}

TEST_CASE("a plus is a space in the query and itself in the path") {
  const auto target = Target::parse("/a+b?q=c+d%2B");

  REQUIRE(target);
  CHECK(target->segments() == Segments{"a+b"});
  CHECK(target->parameter("q") == "c d+");
}

TEST_CASE("the first of two parameters of one name counts, and one without a value is empty") {
  const auto target = Target::parse("/x?a=1&a=2&b&&=3");

  REQUIRE(target);
  CHECK(target->parameter("a") == "1");
  CHECK(target->parameter("b") == "");
  CHECK(target->parameter("c") == std::nullopt);
}

TEST_CASE("an escape that is none is refused, in the path and in the query") {
  for (const std::string_view text : {"/%", "/%4", "/%zz", "/a%2", "/x?a=%", "/x?%G0=1"}) {
    CAPTURE(text);
    CHECK(!Target::parse(text));
  }
}

TEST_CASE("what is not UTF-8 once decoded is refused") {
  CHECK(!Target::parse("/%FF"));
  CHECK(!Target::parse("/%C3"));
  CHECK(Target::parse("/%C3%A9")->segments() == Segments{"é"});
}

TEST_CASE("any text survives as a segment of a path") {
  CHECK(rc::check([] {
    const std::string id = *testing::any_text();
    const auto target = Target::parse("/v1/" + path_segment(id));
    RC_ASSERT(target.has_value());
    RC_ASSERT((target->segments() == Segments{"v1", id}));
  }));
}

}  // namespace
}  // namespace treaty::api
