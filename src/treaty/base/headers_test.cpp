#include "treaty/base/headers.h"

#include <doctest/doctest.h>

using treaty::HeaderField;
using treaty::Headers;

TEST_CASE("names are kept in lower case and found by it") {
  const Headers headers{{"X-Request-ID", "a"}};

  CHECK(headers.get("x-request-id") == "a");
  CHECK(*headers.begin() == HeaderField{"x-request-id", "a"});
}

TEST_CASE("a header that comes again is joined to the first, whatever its case") {
  Headers headers{{"Via", "a"}, {"date", "d"}};
  headers.add("VIA", "b");

  CHECK(headers.get("via") == "a, b");
  CHECK(headers.size() == 2);
}

TEST_CASE("setting a header replaces what was there") {
  Headers headers{{"a", "1"}, {"a", "2"}};
  headers.set("A", " 3 ");
  headers.set("b", "4");

  CHECK(headers == Headers{{"a", "3"}, {"b", "4"}});
}

TEST_CASE("white space around a value is dropped") {
  CHECK(Headers{{"a", " \t1 2\r\n"}}.get("a") == "1 2");
}

TEST_CASE("a header that is not there has no value, an empty one has") {
  const Headers headers{{"empty", ""}};

  CHECK(headers.find("missing") == nullptr);
  CHECK(headers.get("missing").empty());
  REQUIRE(headers.find("empty") != nullptr);
  CHECK(headers.find("empty")->empty());
}

TEST_CASE("headers stay in the order in which they came") {
  const Headers headers{{"b", "1"}, {"a", "2"}};

  CHECK(headers.begin()->name == "b");
  CHECK(Headers().empty());
}
