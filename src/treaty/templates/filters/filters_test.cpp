#include "treaty/templates/filters/filters.h"

#include <doctest/doctest.h>

#include "treaty/testing/templates/evaluating.h"

namespace treaty::templates {
namespace {

using testing::rendered;

// What `{{ expression }}` prints.
std::string printed(std::string_view expression) {
  return rendered("{{ " + std::string(expression) + " }}",
                  R"({"context": {"list": ["b", "A", "c"], "numbers": [3, 1, 2.5],
                      "rows": [{"t": "two", "n": 2}, {"t": "One", "n": 1}],
                      "big": 18446744073709551615, "nil": null}})");
}
bool fails(std::string_view expression) { return printed(expression).starts_with("error: "); }

TEST_CASE("default stands in for what is undefined, and if asked for what is false") {
  CHECK(printed("x | default('d')") == "d");
  CHECK(printed("x | default") == "");
  CHECK(printed("context.nil | default('d')") == "None");
  CHECK(printed("context.nil | d('d', true)") == "d");
  CHECK(printed("'' | default('d', boolean=true)") == "d");
  CHECK(printed("0 | default('d')") == "0");
  CHECK(printed("x | default(y) is defined") == "False");
}

TEST_CASE("int reads what begins as a number or takes the default") {
  CHECK(printed("'12' | int + 1") == "13");
  CHECK(printed("'3.9' | int") == "3");
  CHECK(printed("' -5 ' | int") == "-5");
  CHECK(printed("'+5' | int") == "5");
  CHECK(printed("'1e3' | int") == "1000");
  CHECK(printed("3.99 | int") == "3");
  CHECK(printed("true | int") == "1");
  CHECK(printed("'abc' | int") == "0");
  CHECK(printed("'x' | int(7)") == "7");
  CHECK(printed("'x' | int(default=7)") == "7");
  CHECK(printed("none | int") == "0");
  CHECK(printed("[1] | int") == "0");
  CHECK(printed("'inf' | int") == "0");
  CHECK(printed("'0x10' | int") == "0");
  CHECK(printed("'' | int") == "0");
  CHECK(fails("1e300 | int"));
  CHECK(fails("x | int"));
}

TEST_CASE("float reads a number or takes the default") {
  CHECK(printed("'3.9' | float") == "3.9");
  CHECK(printed("5 | float") == "5.0");
  CHECK(printed("'.5' | float") == "0.5");
  CHECK(printed("'x' | float") == "0.0");
  CHECK(printed("'x' | float(1)") == "1");
  CHECK(printed("'1e400' | float") == "0.0");
  CHECK(printed("'nan' | float") == "0.0");
  CHECK(fails("x | float"));
}

TEST_CASE("string and tojson write values, fromjson reads them") {
  CHECK(printed("5 | string ~ 'px'") == "5px");
  CHECK(printed("[1, 'a'] | string") == R"([1, "a"])");
  CHECK(printed("'a \"b\" <c> & é' | tojson") == R"("a \"b\" <c> & é")");
  CHECK(printed("{'a': [1.0, none]} | tojson") == R"({"a": [1.0, null]})");
  CHECK(printed("{'a': 1} | tojson(indent=2)") == "{\n  \"a\": 1\n}");
  CHECK(printed("('{\"q\": [1, 2]}' | fromjson).q[1]") == "2");
  CHECK(printed("'5' | fromjson + 1") == "6");
  CHECK(fails("'not json' | fromjson"));
  CHECK(fails("'' | fromjson"));
  CHECK(fails("[] | fromjson"));
  CHECK(fails("x | tojson"));
}

TEST_CASE("length counts items, members and characters") {
  CHECK(printed("context.list | length") == "3");
  CHECK(printed("'né' | count") == "2");
  CHECK(printed("{'a': 1} | length") == "1");
  CHECK(fails("5 | length"));
  CHECK(fails("none | length"));
}

TEST_CASE("Case changes for letters of all scripts") {
  CHECK(printed("'née straße' | upper") == "NÉE STRASSE");
  CHECK(printed("'ÀÉ ЖΔ' | lower") == "àé жδ");
  CHECK(printed("'hello World' | capitalize") == "Hello world");
  CHECK(printed("'éCOLE' | capitalize") == "École");
  CHECK(printed("5 | upper") == "5");
  CHECK(printed("none | upper") == "NONE");
  CHECK(printed("x | upper") == "");
}

TEST_CASE("trim takes white space, or the characters named, from both ends") {
  CHECK(printed("'[' ~ '  pad \n' | trim ~ ']'") == "[pad]");
  CHECK(printed("'xxhixx' | trim('x')") == "hi");
  CHECK(printed("'\u00a0a\u00a0' | trim") == "a");
}

TEST_CASE("replace changes every place, or so many") {
  CHECK(printed("'aXbX' | replace('X', '-')") == "a-b-");
  CHECK(printed("'aaa' | replace('a', 'b', 2)") == "bba");
  CHECK(printed("'né' | replace('', '-')") == "-n-é-");
  CHECK(printed("'abc' | replace('', '-', 2)") == "-a-bc");
  CHECK(printed("5 | replace(5, 6)") == "6");
  CHECK(printed("'a' | replace('b')").starts_with("parse: "));
  CHECK(fails("('a' * 10000) | replace('a', 'b' * 10000)"));
  CHECK(fails("('a' * 10000) | replace('', 'b' * 10000)"));
}

TEST_CASE("truncate cuts what is longer by more than five, back to a word") {
  CHECK(printed("'the quick brown fox' | truncate(12)") == "the...");
  CHECK(printed("'the quick brown fox' | truncate(12, true)") == "the quick...");
  CHECK(printed("'the quick brown fox' | truncate(14)") == "the quick brown fox");
  CHECK(printed("'the quick brown fox' | truncate(13)") == "the quick...");
  CHECK(printed("'néééééééééé' | truncate(4)") == "n...");
  CHECK(printed("'hello world foo' | truncate(9, false, '…')") == "hello…");
  CHECK(printed("'short' | truncate") == "short");
  CHECK(fails("'a' | truncate(2)"));
  CHECK(fails("5 | truncate(3)"));
}

TEST_CASE("join writes items one after the other") {
  CHECK(printed("context.list | join(', ')") == "b, A, c");
  CHECK(printed("[1, 2.0, none, true] | join") == "12.0NoneTrue");
  CHECK(printed("'né' | join('-')") == "n-é");
  CHECK(printed("context.rows | join('/', attribute='t')") == "two/One");
  CHECK(printed("x | join(',')") == "");
  CHECK(fails("5 | join"));
  CHECK(fails("none | join"));
}

TEST_CASE("first and last take an end, and nothing from what is empty") {
  CHECK(printed("context.list | first") == "b");
  CHECK(printed("context.list | last") == "c");
  CHECK(printed("'né' | last") == "é");
  CHECK(printed("{'a': 1, 'b': 2} | first") == "a");
  CHECK(printed("([] | first) is defined") == "False");
  CHECK(printed("('' | last) is defined") == "False");
  CHECK(fails("5 | first"));
}

TEST_CASE("sort, min and max compare strings caseless and numbers by value") {
  CHECK(printed("context.list | sort | join") == "Abc");
  CHECK(printed("context.list | min ~ context.list | max") == "Ac");
  CHECK(printed("['b', 'B', 'a'] | sort(true) | join") == "bBa");
  CHECK(printed("['b', 'B', 'a'] | sort(case_sensitive=true) | join") == "Bab");
  CHECK(printed("context.numbers | sort") == "[1, 2.5, 3]");
  CHECK(printed("context.rows | sort(attribute='n') | join(',', 't')") == "One,two");
  CHECK(printed("(context.rows | max(attribute='n')).t") == "two");
  CHECK(printed("'cab' | sort | join") == "abc");
  CHECK(printed("([] | min) is defined") == "False");
  CHECK(fails("[1, 'a'] | sort"));
  CHECK(fails("['a', 'b', 1] | max"));
  CHECK(fails("context.rows | sort"));
  CHECK(fails("context.rows | sort(attribute='missing')"));
}

TEST_CASE("reverse and list go over what has items") {
  CHECK(printed("context.numbers | reverse") == "[2.5, 1, 3]");
  CHECK(printed("'né' | reverse") == "én");
  CHECK(printed("'né' | list") == R"(["n", "é"])");
  CHECK(printed("{'a': 1} | list") == R"(["a"])");
  CHECK(printed("x | list") == "[]");
  CHECK(fails("5 | list"));
}

TEST_CASE("sum adds numbers") {
  CHECK(printed("context.numbers | sum") == "6.5");
  CHECK(printed("[] | sum") == "0");
  CHECK(printed("[1, true] | sum(start=10)") == "12");
  CHECK(printed("context.rows | sum('n')") == "3");
  CHECK(fails("['a'] | sum"));
  CHECK(fails("[9223372036854775807, 1] | sum"));
}

TEST_CASE("abs keeps the kind of a number") {
  CHECK(printed("(-7) | abs") == "7");
  CHECK(printed("(-1.5) | abs") == "1.5");
  CHECK(fails("'a' | abs"));
  CHECK(fails("(-9223372036854775807 - 1) | abs"));
}

TEST_CASE("round goes half to even by the exact value and gives a double") {
  CHECK(printed("2.5 | round") == "2.0");
  CHECK(printed("3.5 | round") == "4.0");
  CHECK(printed("5 | round") == "5.0");
  CHECK(printed("2.675 | round(2)") == "2.67");
  CHECK(printed("1.45 | round(1)") == "1.4");
  CHECK(printed("1250 | round(-2)") == "1200.0");
  CHECK(printed("2.1 | round(0, 'ceil')") == "3.0");
  CHECK(printed("2.19 | round(1, 'floor')") == "2.1");
  CHECK(printed("1.5 | round(1000)") == "1.5");
  CHECK(printed("1.5 | round(-1000)") == "0.0");
  CHECK(fails("'a' | round"));
  CHECK(fails("1.5 | round(0, 'up')"));
}

TEST_CASE("Arguments that a filter does not take are refused") {
  CHECK(printed("'a' | upper(1)").starts_with("parse: "));
  CHECK(printed("'a' | int(1, 2)").starts_with("parse: "));
  CHECK(printed("'a' | int(7, default=8)").starts_with("parse: "));
  CHECK(printed("'a' | int(base=2)").starts_with("parse: "));
}

TEST_CASE("An unknown filter is refused with the nearest one") {
  CHECK(printed("'a' | uper") == "parse: there is no filter 'uper'; did you mean 'upper'?");
  CHECK(printed("'a' is strng") == "parse: there is no test 'strng'; did you mean 'string'?");
}

TEST_CASE("Tests tell kinds apart; booleans are numbers too, and strings and objects sequences") {
  CHECK(printed("[x is defined, x is undefined, x is none, none is none]") ==
        "[false, true, false, true]");
  CHECK(printed("['a' is string, 1 is string, 1 is number, 1.5 is number, true is number]") ==
        "[true, false, true, true, true]");
  CHECK(printed("[true is boolean, 1 is boolean, {} is mapping, [] is mapping]") ==
        "[true, false, true, false]");
  CHECK(printed("[[] is sequence, 'a' is sequence, {} is sequence, 5 is sequence]") ==
        "[true, true, true, false]");
  CHECK(printed("5 is not string") == "True");
}

TEST_CASE("Integers beyond int64 keep their digits and calculate as doubles") {
  CHECK(printed("context.big") == "18446744073709551615");
  CHECK(printed("context.big + 1") == "1.8446744073709552e+19");
  CHECK(printed("context.big > 9223372036854775807") == "True");
}

TEST_CASE("Numbers at the ends of their range calculate exactly, or are too large") {
  constexpr const char* kEnds =
      R"({"context": {"least": -9223372036854775808, "most": 9223372036854775807}})";
  const std::string too_large = "error: the number is too large";
  const auto of_template = [&](const std::string& expression) {
    return testing::rendered("{{ " + expression + " }}", std::string_view(kEnds));
  };

  for (const char* sum : {"context.least // -1", "context.least * -1", "-context.least",
                          "context.least - 1", "context.most + 1", "context.most * 2",
                          "context.least | abs", "[context.least, -1] | sum"}) {
    CHECK(of_template(sum) == too_large + " for an integer");
  }
  CHECK(of_template("1e300 | int") == too_large + " for an integer");
  CHECK(of_template("context.least % -1") == "0");
  CHECK(of_template("context.least // 1") == "-9223372036854775808");
  CHECK(of_template("context.least / -1") == "9.223372036854776e+18");
  CHECK(of_template("context.least | int") == "-9223372036854775808");
  CHECK(of_template("'-9223372036854775808' | int") == "-9223372036854775808");
  CHECK(of_template("context.least | round") == "-9.223372036854776e+18");
  CHECK(of_template("1 | round(context.least)") == "0.0");
  CHECK(of_template("1.7e308 | round(-308)") == too_large);
  CHECK(of_template("1.7e308 | round(1, 'ceil')") == too_large);

  for (const char* sum : {"context.least * -1", "-context.least", "context.least - 1",
                          "context.most + 1", "context.most * 2"}) {
    CHECK(testing::evaluated(sum, std::string_view(kEnds)) == too_large + " for an integer");
  }
  CHECK(testing::evaluated("context.least / -1", std::string_view(kEnds)) ==
        "9.223372036854776e+18");
}

}  // namespace
}  // namespace treaty::templates
