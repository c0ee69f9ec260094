#include "treaty/base/masking/spelling.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace treaty {
namespace {

std::string repeated(std::string_view part) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += part;
  return text;
}

// The places of a text where the first glance does not suffice and texts are compared.
std::size_t close_looks(const SpelledBeginnings& beginnings, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) count += beginnings.may_be_at(text, at) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a spelling that begins like no wanted text is passed over at the first glance") {
  SpelledBeginnings beginnings;
  beginnings.add("sk-0123456789");
  beginnings.add("/ab");

  for (const char* part : {"s",
                           R"(\u0073)",
                           R"(\\u0073)",
                           R"(\\\u0073)",
                           R"(\\\\u0073)",
                           R"(\)",
                           R"(\u005c)",
                           R"(\u005C)",
                           R"(\u005cu0073)",
                           R"(\u005cu005cu0073)",
                           R"(s\)",
                           R"(\u0073\\)",
                           R"(\u0073\n)",
                           R"(s\u0073)",
                           R"(\n)",
                           R"(\/)",
                           R"(\u002f)",
                           R"(\\\u002f)",
                           "%73",
                           "s%73",
                           "%2f",
                           "%"}) {
    CAPTURE(part);
    const std::string text = repeated(part);
    // Where the text ends, anything may follow.
    CHECK(close_looks(beginnings, text) <= 8);
  }
}

TEST_CASE("whatever begins a wanted text is seen at the first glance") {
  const auto part = rc::gen::element<std::string>(
      "a", "b", "ab", "\\", "\\\\", "\\\\\\\\", "/", "\\/", "\\\"", "\"", "\\n", "\n", "u", "0061",
      "\\u0061", "\\u0062", "\\\\u0061", "\\u005c", "\\u005Cu0061", "\\u005cu005cu0061", "\\u0075",
      "\\ud83d", "\\udd11", "\U0001F511", "\\u00e9", "\xC3", "\xA9", "%61", "%5C", "%25", "%", "6",
      "1", "\\u006", "\\u002f", "\\u0022", "\\u006e", "\\u0030");
  const std::vector<std::string> wanted = {"ab",           "aa", "/a",  "\"a", "\na",
                                           "\\a",          "%a", "a\\", "a%",  "\u00e9a",
                                           "\U0001F511ab", "a/", "a\"", "a\n", "u0061"};
  CHECK(rc::check([&] {
    const std::string one = *rc::gen::elementOf(wanted);
    SpelledBeginnings beginnings;
    beginnings.add(one);
    std::string text;
    for (const auto& piece : *rc::gen::container<std::vector<std::string>>(part)) text += piece;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const SpelledMatch match = match_spelled(std::string_view(text).substr(at), one);
      if (match.size > 0 || match.read > 0) RC_ASSERT(beginnings.may_be_at(text, at));
    }
  }));
}

}  // namespace treaty
