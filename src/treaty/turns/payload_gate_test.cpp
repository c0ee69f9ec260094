#include "treaty/turns/payload_gate.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/contracts/text/guarded_text.h"

namespace treaty::turns {
namespace {

bool may_be_payload(std::string_view text) {
  PayloadPrefix prefix;
  for (const char c : text) prefix.feed(c);
  return prefix.is_possible();
}

}  // namespace

TEST_CASE("every beginning of a JSON object or array may become one") {
  const std::string_view text =
      " \r\n\f{\"a\\\"b\" : [ 1, -2.5e+3, true ,false, null, {}, [ ] , \"\\u0041\\\\\" ], "
      "\"c\":{\"d"
      "\":[[]]} }\t\v ";
  REQUIRE(contracts::is_payload(text));

  for (std::size_t size = 0; size <= text.size(); ++size) {
    CHECK(may_be_payload(text.substr(0, size)));
  }
}

TEST_CASE("what is no beginning of a JSON object or array is known early") {
  for (const std::string_view text :
       {"H", "1", "\"", "[N", "[nu1", "{a", "{{", "{,", "[,", "[1 2", "[1}", "{\"a\" 1", "{\"a\",",
        "{\"a\":}", "[1] ]", "{} x", "[\"a\nb", "[1,]", "{\"a\":1,}"}) {
    CHECK(!may_be_payload(text));
  }
}

TEST_CASE("a text that is a payload never looked impossible on its way") {
  const auto piece = rc::gen::element<std::string>("{", "}", "[", "]", ",", ":", "\"", "\"a\"", "1",
                                                   "-", ".5", "e3", "true", "null", " ", "\n", "\\",
                                                   "\\n", "x", "\"a\":1", "[1]", "{}");
  CHECK(rc::check([&] {
    std::string text = *rc::gen::element<std::string>("[", "{", " [");
    for (const std::string& one : *rc::gen::container<std::vector<std::string>>(piece)) text += one;
    RC_ASSERT(may_be_payload(text) || !contracts::is_payload(text));
  }));
}

}  // namespace treaty::turns
