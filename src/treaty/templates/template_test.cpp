#include "treaty/templates/template.h"

#include <doctest/doctest.h>

#include "treaty/testing/templates/evaluating.h"

namespace treaty::templates {
namespace {

using testing::evaluated;
using testing::Room;
using testing::value_of;

constexpr std::string_view kScope = R"({
  "context": {"n": 5, "name": "Ada", "list": [1, 2], "object": {"k": "v"}},
  "input": {"x": 1},
  "output": {"content": "hi"},
  "result": {"error": {"code": "timeout"}},
  "item": {"id": 7}
})";

// A template as JSON, and what it renders to as JSON.
std::string made(std::string_view source, const Scope& scope) {
  const auto parsed = Template::parse(value_of(source));
  if (!parsed) return "parse: " + parsed.error().message;
  const auto value = parsed->render(scope);
  return value ? print_json(*value) : "error: " + value.error();
}
std::string made(std::string_view source) { return made(source, Room(kScope).scope); }

TEST_CASE("A path alone is the value itself, of whatever kind") {
  CHECK(made(R"("context.n")") == "5");
  CHECK(made(R"("  context.object \n")") == R"({"k": "v"})");
  CHECK(made(R"("output")") == R"({"content": "hi"})");
  CHECK(made(R"("input.x")") == "1");
  CHECK(made(R"("result.error.code")") == R"("timeout")");
}

TEST_CASE("A path to what is missing is null") {
  CHECK(made(R"("context.missing")") == "null");
  CHECK(made(R"("context.n.x.y")") == "null");
  CHECK(made(R"("output.a.b")") == "null");
  CHECK(made(R"("context.a")", Scope{}) == "null");
  CHECK(made(R"("context")", Scope{}) == "null");
}

TEST_CASE("What only looks like a path is text, the word result too") {
  CHECK(made(R"("result")") == R"("result")");
  CHECK(made(R"("context.list.0")") == R"("context.list.0")");
  CHECK(made(R"("context.")") == R"("context.")");
  CHECK(made(R"("context n")") == R"("context n")");
  CHECK(made(R"("contexts.n")") == R"("contexts.n")");
  CHECK(made(R"("context.größe")") == R"("context.größe")");
  CHECK(made(R"("")") == R"("")");
  CHECK(made(R"(" plain\n")") == R"(" plain\n")");
  CHECK(made(R"("a{# comment #}b")") == R"("a{# comment #}b")");
}

TEST_CASE("A bound name is a reference where it is bound, and text elsewhere") {
  CHECK(made(R"("item")") == R"({"id": 7})");
  CHECK(made(R"("item.id")") == "7");
  CHECK(made(R"("item.id")", Scope{}) == R"("item.id")");
  CHECK(made(R"("{{ item.id }}")") == R"("7")");
}

TEST_CASE("Strings are rendered at every depth, keys never") {
  CHECK(
      made(R"({"{{ context.n }}": ["{{ context.n }}", {"p": "context.n", "q": 7}], "z": null})") ==
      R"({"{{ context.n }}": ["5", {"p": 5, "q": 7}], "z": null})");
  CHECK(made("true") == "true");
  CHECK(made("[]") == "[]");
}

TEST_CASE("An error inside an object names its key") {
  CHECK(made(R"({"a": {"b": "{{ 1 / 0 }}"}})") == "error: a: b: division by zero");
}

TEST_CASE("Where the context lies over the input, references see it so") {
  Room room(R"({"context": {"a": 1}, "input": {"a": 2, "b": 3}})");
  room.scope.context_over_input = true;

  CHECK(made(R"(["input.a", "input.b", "input.c", "input"])", room.scope) ==
        R"([1, 3, null, {"a": 1, "b": 3}])");
  CHECK(made(R"("{{ input.a }}{{ input['b'] }}{{ input.c }}{{ input|length }}")", room.scope) ==
        R"("132")");
}

TEST_CASE("A fault's offset is in bytes of the string that has it") {
  CHECK(Template::parse(value_of(R"(["fine", "é{{ 1 + }}"])")).error().offset == 9);
  CHECK(Template::parse(value_of(R"("{{ x | nope }}")")).error().offset == 7);
  CHECK(Template::parse(value_of(R"("{% if x %}")")).error().offset == 10);
}

TEST_CASE("What is not UTF-8 is refused") {
  CHECK(!Template::parse(Dynamic(boost::json::string("a\xff"))));
}

TEST_CASE("A value that takes itself in, again and again, is stopped") {
  const auto wrap = Template::parse(value_of(R"({"inner": "context"})"));
  Dynamic context = 1;
  bool was_stopped = false;

  for (int i = 0; i < 1'000 && !was_stopped; ++i) {
    auto next = wrap->render({.context = &context});
    was_stopped = !next;
    if (next) context = *std::move(next);
  }

  CHECK(was_stopped);
}

TEST_CASE("Unknown variables are told once each, with their place") {
  const auto parsed = Template::parse(value_of(R"(["{{ foo }} {{ foo.bar + baz[qux] }}"])"));

  const auto faults = parsed->unknown_names({});

  REQUIRE(faults.size() == 3);
  CHECK(faults[0].message == "unknown variable 'foo'");
  CHECK(faults[0].offset == 3);
  CHECK(faults[1].message == "unknown variable 'baz'");
  CHECK(faults[2].message == "unknown variable 'qux'");
}

TEST_CASE(
    "Known are the names of the scope, what is bound, what is set and the variables of loops") {
  const std::vector<std::string_view> bound = {"item"};
  const auto unknown = [&](std::string_view text) {
    return Template::parse(Dynamic(boost::json::string(text)))->unknown_names(bound).size();
  };

  CHECK(unknown("{{ context.a }}{{ input.a }}{{ output.a }}{{ result.a }}{{ item.a }}") == 0);
  CHECK(unknown("{{ none }}{{ true }}{{ False }}{{ None }}") == 0);
  CHECK(unknown("{% if 1 %}{% set x = 1 %}{% endif %}{{ x }}") == 0);
  CHECK(unknown("{% set x %}a{% endset %}{{ x }}") == 0);
  CHECK(unknown("{% for a, b in context.l if a %}{{ loop.index }}{{ a }}{{ b }}{% endfor %}") == 0);
  CHECK(unknown("{{ loop.index }}") == 1);
  CHECK(unknown("{% for a in b %}{% endfor %}{{ a }}") == 2);
  CHECK(unknown("{{ context.a | default(fallback) }}") == 1);
  CHECK(unknown("{{ {'k': one} }}{{ [two] }}{{ -three }}{{ not four }}") == 4);
  CHECK(unknown("{{ null }}") == 1);
  CHECK(unknown("unbound.name") == 0);
}

constexpr std::string_view kOperands = R"({
  "context": {"n": 5, "f": 2.5, "yes": true, "nil": null, "name": "Ada", "word": "naïve",
              "list": [1, 2, 3], "object": {"k": 1, "deep": {"m": "x"}}, "zero": 0},
  "input": {"k": "v"},
  "output": {"content": "hi"},
  "result": {"error": {"code": "rate_limit", "retryable": true}}
})";

std::string here(std::string_view expression) { return evaluated(expression, kOperands); }

bool is_refused(std::string_view expression) {
  return evaluated(expression).starts_with("parse: ");
}
bool fails(std::string_view expression) { return here(expression).starts_with("error: "); }

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST_CASE("An empty condition is true") {
  CHECK(evaluated("") == "true");
  CHECK(evaluated(" \n\t ") == "true");
}

TEST_CASE("The four names are known, and a scope without a value for them has null") {
  CHECK(here("context.n") == "5");
  CHECK(here("input.k") == "\"v\"");
  CHECK(here("output.content") == "\"hi\"");
  CHECK(here("result.error.code") == "\"rate_limit\"");
  CHECK(evaluated("[context, input, output, result]") == "[null, null, null, null]");
  CHECK(is_refused("foo == 1"));
  CHECK(is_refused("none"));
}

TEST_CASE("Operators bind as in Python") {
  CHECK(evaluated("2 + 3 * 4") == "14");
  CHECK(evaluated("(2 + 3) * 4") == "20");
  CHECK(evaluated("10 - 3 - 2") == "5");
  CHECK(evaluated("2 * -3 + - -1") == "-5");
  CHECK(evaluated("true or false and false") == "true");
  CHECK(evaluated("not 1 == 2") == "true");
  CHECK(evaluated("not 1 in [1]") == "false");
  CHECK(evaluated("1 + 1 in [2]") == "true");
  CHECK(evaluated("-2 * 3") == "-6");
}

TEST_CASE("And, or and not give booleans and look no further than they must") {
  CHECK(here("context.zero or context.name") == "true");
  CHECK(here("context.zero and 1 / 0") == "false");
  CHECK(here("context.name or 1 / 0") == "true");
  CHECK(here("not context.list") == "false");
  CHECK(here("context.name and context.nil > 1") == "error: cannot compare null with a number");
}

TEST_CASE("Comparisons chain and stop at the first that does not hold") {
  CHECK(evaluated("1 < 2 < 3") == "true");
  CHECK(evaluated("1 < 2 > 1 != 2") == "true");
  CHECK(evaluated("3 < 2 < 1 / 0") == "false");
  CHECK(evaluated("1 == 1.0 == true") == "true");
}

TEST_CASE("Numbers and strings have an order, and nothing else") {
  CHECK(evaluated("'10' < '9'") == "true");
  CHECK(evaluated("'Z' < 'a' < 'é' < '😀'") == "true");
  CHECK(evaluated("true < 1.5") == "true");
  CHECK(evaluated("9007199254740993 > 9007199254740992.0") == "true");
  CHECK(fails("context.nil > 3"));
  CHECK(fails("null >= null"));
  CHECK(fails("'a' < 1"));
  CHECK(fails("[1] < [2]"));
  CHECK(fails("context.object > 1"));
}

TEST_CASE("What is missing is null, all the way down") {
  CHECK(here("context.missing.deeper.still") == "null");
  CHECK(here("context.nil.x") == "null");
  CHECK(here("context.nil[0]") == "null");
  CHECK(here("context.n.x") == "null");
  CHECK(here("context.name.length") == "null");
  CHECK(here("context.list[3]") == "null");
  CHECK(here("context.list[-4]") == "null");
  CHECK(here("context.name[7]") == "null");
  CHECK(here("context.object['missing']") == "null");
}

TEST_CASE("Indices count from both ends, in strings by characters") {
  CHECK(here("context.list[0]") == "1");
  CHECK(here("context.list[-1]") == "3");
  CHECK(here("context.word[2]") == "\"ï\"");
  CHECK(here("context.word[-3]") == "\"ï\"");
  CHECK(here("context.object['deep']['m']") == "\"x\"");
  CHECK(here("context.list[context.zero + 1]") == "2");
  CHECK(evaluated("[[1, 2], [3]][0][1]") == "2");
}

TEST_CASE("An index of the wrong kind, or of what has none, is an error") {
  CHECK(fails("context.list['x']"));
  CHECK(fails("context.list[true]"));
  CHECK(fails("context.list[1.0]"));
  CHECK(fails("context.list[null]"));
  CHECK(fails("context.object[0]"));
  CHECK(fails("context.n[0]"));
  CHECK(fails("context.yes['a']"));
}

TEST_CASE("Plus adds numbers, strings and lists, and mixes none of them") {
  CHECK(evaluated("1 + 2.5") == "3.5");
  CHECK(evaluated("true + true") == "2");
  CHECK(evaluated("'a' + 'b' + 'c'") == "\"abc\"");
  CHECK(here("context.list + [4]") == "[1, 2, 3, 4]");
  CHECK(here("context.list") == "[1, 2, 3]");
  CHECK(fails("'a' + 1"));
  CHECK(fails("1 + 'a'"));
  CHECK(fails("[1] + 'a'"));
  CHECK(fails("null + 1"));
}

TEST_CASE("Division gives a double; by zero it is an error, and so is what does not fit") {
  CHECK(evaluated("4 / 2") == "2.0");
  CHECK(evaluated("1 / 0") == "error: division by zero");
  CHECK(evaluated("1 / 0.0") == "error: division by zero");
  CHECK(fails("9223372036854775807 + 1"));
  CHECK(fails("-9223372036854775807 - 2"));
  CHECK(fails("9223372036854775807 * 2"));
  CHECK(fails("1e308 * 10"));
  CHECK(fails("1e308 + 1e308"));
  CHECK(fails("[1] * 2"));
  CHECK(fails("'a' * 2"));
  CHECK(fails("-'a'"));
  CHECK(evaluated("-9223372036854775807 - 1") == "-9223372036854775808");
}

TEST_CASE("In looks for an element, a key or a part of a string") {
  CHECK(evaluated("1 in [1.0]") == "true");
  CHECK(evaluated("4 not in [1, 2]") == "true");
  CHECK(here("'k' in context.object") == "true");
  CHECK(here("1 in context.object") == "false");
  CHECK(evaluated("'b' in 'abc'") == "true");
  CHECK(evaluated("'' in ''") == "true");
  CHECK(here("result.error.code in ['rate_limit', 'timeout'] and result.error.retryable") ==
        "true");
  CHECK(fails("1 in 'abc'"));
  CHECK(fails("1 in null"));
  CHECK(fails("1 in 5"));
  CHECK(fails("[1] in context.object"));
}

TEST_CASE("Strings have a few escapes and no others") {
  CHECK(evaluated(R"('it\'s')") == "\"it's\"");
  CHECK(evaluated(R"("\\ \" \n \r \t \u00e9")") == R"("\\ \" \n \r \t é")");
  CHECK(evaluated(R"('\ud83d\ude00')") == "\"😀\"");
  CHECK(is_refused(R"('\q')"));
  CHECK(is_refused(R"('\x41')"));
  CHECK(is_refused(R"('\u12')"));
  CHECK(is_refused(R"('\ud83d')"));
  CHECK(is_refused(R"('\ude00')"));
  CHECK(is_refused("'open"));
  CHECK(is_refused("'open\\"));
}

TEST_CASE(
    "Numbers have no leading zero, no sign of their own and a digit on each side of a point") {
  CHECK(evaluated("[0, 12, 1.5, 1.5e3, 2e-2, 0.0]") == "[0, 12, 1.5, 1500.0, 0.02, 0.0]");
  CHECK(evaluated("1e-400") == "0.0");
  CHECK(is_refused("012"));
  CHECK(is_refused("1_000"));
  CHECK(is_refused("1."));
  CHECK(is_refused(".5"));
  CHECK(is_refused("1e"));
  CHECK(is_refused("12abc"));
  CHECK(is_refused("+1"));
  CHECK(is_refused("9223372036854775808"));
  CHECK(is_refused("1e400"));
}

TEST_CASE("What other languages have is refused") {
  CHECK(is_refused("context.a && context.b"));
  CHECK(is_refused("!context.a"));
  CHECK(is_refused("context.a === 1"));
  CHECK(is_refused("context.a <> 1"));
  CHECK(is_refused("context.a is None"));
  CHECK(is_refused("{'a': 1}"));
  CHECK(is_refused("context.list[0:1]"));
  CHECK(is_refused("7 // 3"));
  CHECK(is_refused("7 % 3"));
  CHECK(is_refused("2 ** 3"));
  CHECK(is_refused("context.name.upper()"));
  CHECK(is_refused("1 if true else 2"));
  CHECK(is_refused("context.a | length"));
  CHECK(is_refused("(1, 2)"));
  CHECK(is_refused("[1, ]"));
  CHECK(is_refused("context..a"));
  CHECK(is_refused("context.1"));
  CHECK(is_refused("1 not 2"));
  CHECK(is_refused("not"));
  CHECK(is_refused("\xff"));
}

TEST_CASE("A fault tells its place in bytes") {
  CHECK(Expression::parse("context.é == foo").error().offset == 14);
  CHECK(Expression::parse("1 + ").error().offset == 4);
  CHECK(Expression::parse("'ab\\q'").error().offset == 3);
  CHECK(Expression::parse("(1 + 2").error().message == "expected ')', not the end");
}

TEST_CASE("Names may have letters of all scripts") {
  CHECK(evaluated("context.größe > 1", R"({"context": {"größe": 2}})") == "true");
}

TEST_CASE("Nesting ends at 64 levels, whatever it is made of") {
  CHECK(evaluated(repeated("(", 64) + "1" + repeated(")", 64)) == "1");
  CHECK(is_refused(repeated("(", 65) + "1" + repeated(")", 65)));
  CHECK(evaluated(repeated("not ", 64) + "1") == "true");
  CHECK(is_refused(repeated("not ", 65) + "1"));
  CHECK(evaluated(repeated("- ", 64) + "1") == "1");
  CHECK(is_refused(repeated("- ", 65) + "1"));
  CHECK(is_refused(repeated("[", 65) + repeated("]", 65)));
  CHECK(is_refused(repeated("not ", 100'000)));
  CHECK(is_refused(repeated("(", 100'000)));
  CHECK(is_refused("context" + repeated("[context", 65) + repeated("]", 65)));
}

TEST_CASE("What stands in a row may be as long as one likes") {
  CHECK(evaluated("0" + repeated(" + 1", 100'000)) == "100000");
  CHECK(evaluated("true" + repeated(" and true", 100'000)) == "true");
  CHECK(evaluated("1" + repeated(" == 1", 100'000)) == "true");
  CHECK(evaluated("context" + repeated(".a", 100'000)) == "null");
  CHECK(evaluated("context" + repeated("[0]", 100'000)) == "null");
}

TEST_CASE("Whether a name stands in a condition is known") {
  const auto condition = Expression::parse("context.result == 1 or output.x");

  REQUIRE(condition);
  CHECK(condition->names("context"));
  CHECK(condition->names("output"));
  CHECK(!condition->names("result"));
  CHECK(!condition->names("x"));
  CHECK(Expression::parse("[1, -result.n]")->names("result"));
}

TEST_CASE("Where the context lies over the input, a member of the input is the context's") {
  Room room(R"({"context": {"a": 1, "n": null}, "input": {"a": 2, "b": 3, "n": 4}})");
  room.scope.context_over_input = true;

  CHECK(evaluated("[input.a, input['b'], input.n, input.c]", room.scope) == "[1, 3, null, null]");
  CHECK(evaluated("input", room.scope) == R"({"a": 1, "b": 3, "n": null})");
  CHECK(evaluated("'b' in input", room.scope) == "true");
}

TEST_CASE("A condition holds or not, and says why when it cannot be told") {
  const Room room(kOperands);

  CHECK(*Expression::parse("context.list")->holds(room.scope));
  CHECK(!*Expression::parse("context.nil")->holds(room.scope));
  CHECK(Expression::parse("context.list < 1")->holds(room.scope).error() ==
        "cannot compare a list with a number");
}

}  // namespace
}  // namespace treaty::templates
