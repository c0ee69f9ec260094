#include "treaty/base/schema/pattern.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <regex>
#include <string>

using treaty::schema::Budget;
using treaty::schema::Pattern;

namespace {

bool matches(std::string_view pattern, std::string_view text) {
  CAPTURE(pattern);
  const auto compiled = Pattern::compile(pattern);
  REQUIRE(compiled);
  Budget budget(1'000'000);
  const bool result = compiled->matches(text, budget);
  REQUIRE(!budget.is_spent());
  return result;
}

std::string refused_pattern(std::string_view pattern) {
  const auto compiled = Pattern::compile(pattern);
  return compiled ? "" : compiled.error();
}

}  // namespace

TEST_CASE("a pattern matches anywhere unless it is anchored") {
  CHECK(matches("b+", "abbc"));
  CHECK(!matches("^b", "ab"));
  CHECK(matches("b$", "ab"));
  CHECK(!matches("^b$", "b\n"));
  CHECK(matches("", "anything"));
  CHECK(matches("^$", ""));
}

TEST_CASE("repetitions take as many as they say") {
  CHECK(matches("^a{2,3}$", "aaa"));
  CHECK(!matches("^a{2,3}$", "aaaa"));
  CHECK(!matches("^a{2,3}$", "a"));
  CHECK(matches("^a{2,}$", "aaaaa"));
  CHECK(matches("^a{0}$", ""));
  CHECK(matches("^(?:ab)*?c??$", "abab"));
  CHECK(matches("^(a|b(?<name>c)?)+$", "abcb"));
}

TEST_CASE("a repetition of what may be empty ends") {
  CHECK(matches("^(a*)*$", "aaa"));
  CHECK(matches("^(a*)+b$", "aab"));
  CHECK(!matches("^(a?){3}$", "aaaa"));
  CHECK(matches("^(|a)+$", "aa"));
}

TEST_CASE("classes have ranges, names and negations") {
  CHECK(matches("^[a-c\\d_-]+$", "a1_-"));
  CHECK(!matches("^[^a-c]$", "b"));
  CHECK(matches("^[^a-c]$", "é"));
  CHECK(matches("^[\\]\\\\^]+$", "]\\^"));
  CHECK(!matches("[]", "a"));
  CHECK(matches("^[^]$", "\n"));
  CHECK(matches("^\\s\\S\\w\\W\\d\\D$", "\u3000éa-1x"));
  CHECK(!matches("^.$", "\n"));
}

TEST_CASE("a character is a code point, written or escaped") {
  CHECK(matches("^.$", "😀"));
  CHECK(matches("^\\u{1F600}$", "😀"));
  CHECK(matches("^\\ud83d\\ude00$", "😀"));
  CHECK(matches("^[\\u00e0-\\u00ff]+$", "éè"));
  CHECK(matches("^\\x41\\t\\cA\\0\\/\\.\\-$", std::string_view("A\t\x01\0/.-", 7)));
}

TEST_CASE("word boundaries are between words and what is none") {
  CHECK(matches("\\bcat\\b", "a cat."));
  CHECK(!matches("\\bcat\\b", "concat"));
  CHECK(matches("\\Bcat", "concat"));
}

TEST_CASE("what cannot be matched in linear time, or is no pattern, is refused") {
  for (const std::string_view wrong : {"(",
                                       ")",
                                       "[",
                                       "a**",
                                       "*",
                                       "a{2,1}",
                                       "{",
                                       "a{",
                                       "a{x}",
                                       "a{1001}",
                                       "]",
                                       "}",
                                       "^*",
                                       "\\",
                                       "\\q",
                                       "\\1",
                                       "\\k<a>",
                                       "(?=a)",
                                       "(?!a)",
                                       "(?<=a)",
                                       "(?<!a)",
                                       "(?<1>a)",
                                       "(?i)a",
                                       "\\p{L}",
                                       "[b-a]",
                                       "[\\d-z]",
                                       "\\u12",
                                       "\\x1",
                                       "\\u{110000}",
                                       "\\u{}",
                                       "\\c1",
                                       "[a",
                                       "(?:a",
                                       "((a{1000}){1000}){1000}",
                                       "((){1000}){1000}"}) {
    CAPTURE(wrong);
    CHECK(refused_pattern(wrong) != "");
  }
  CHECK(refused_pattern("(?=a)") == "uses lookahead, which is not supported");
  CHECK(refused_pattern(std::string(100, '(') + std::string(100, ')')) == "nests groups too deep");
}

TEST_CASE("patterns that other matchers take years for are answered or given up") {
  const auto compiled = Pattern::compile("^(a|a)*(a|aa)+(a*)*b$");
  REQUIRE(compiled);
  Budget budget(1'000'000);

  CHECK(!compiled->matches(std::string(10'000, 'a'), budget));
  CHECK(!budget.is_spent());

  const auto large = Pattern::compile("(a?){900}b");
  REQUIRE(large);
  CHECK(!large->matches(std::string(1'000'000, 'a'), budget));
  CHECK(budget.is_spent());
}

TEST_CASE("patterns match what the standard library's matcher says") {
  CHECK(rc::check([] {
    const auto piece = rc::gen::element<std::string>("a", "b", "[ab]", "[^a]", ".", "(?:a|bc)",
                                                     "(?:ab)*", "b?", "a+", "c{1,2}", "|", "\\b");
    std::string pattern = *rc::gen::element<std::string>("", "^");
    for (const auto& one : *rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(piece)))
      pattern += one;
    pattern += *rc::gen::element<std::string>("", "$");
    const auto text =
        *rc::gen::resize(10, rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c', ' ')));

    const auto compiled = Pattern::compile(pattern);
    RC_ASSERT(compiled.has_value());
    Budget budget(1'000'000);
    RC_ASSERT(compiled->matches(text, budget) == std::regex_search(text, std::regex(pattern)));
  }));
}
