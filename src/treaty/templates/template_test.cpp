#include "treaty/templates/template.h"

#include <doctest/doctest.h>

#include "treaty/testing/templates/evaluating.h"

namespace treaty::templates {
namespace {

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

}  // namespace
}  // namespace treaty::templates
