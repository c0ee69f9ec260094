// The Jinja subset: tags, expressions, white space, bounds.
#include <doctest/doctest.h>

#include "treaty/testing/templates/evaluating.h"

namespace treaty::templates {
namespace {

using testing::rendered;

constexpr std::string_view kScope = R"({
  "context": {"a": "x", "n": 5, "f": 1.0, "yes": true, "nil": null, "list": ["a", "b"],
              "object": {"k": 1.0, "j": [1, null, true]}, "pairs": [["a", 1], ["b", 2]],
              "items": 3, "numbers": [3, 1, 2], "matrix": [[1, 2], [3]]}
})";

std::string here(std::string_view text) { return rendered(text, kScope); }
bool is_refused(std::string_view text) { return rendered(text).starts_with("parse: "); }
bool fails(std::string_view text) { return here(text).starts_with("error: "); }

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST_CASE("Values print as Python and JSON write them") {
  CHECK(here("{{ context.n }} {{ context.f }} {{ context.yes }} {{ context.nil }}") ==
        "5 1.0 True None");
  CHECK(here("{{ context.object }}") == R"({"k": 1.0, "j": [1, null, true]})");
  CHECK(here("{{ ['né', {}] }}") == R"(["né", {}])");
}

TEST_CASE("What is undefined prints nothing, is false, has no items and the length 0") {
  CHECK(here("[{{ context.missing }}{{ unknown }}{{ context.list[9] }}]") == "[]");
  CHECK(here("{% if context.missing %}y{% else %}n{% endif %}") == "n");
  CHECK(here("{% for x in context.missing %}y{% else %}none{% endfor %}") == "none");
  CHECK(here("{{ context.missing | length }}") == "0");
  CHECK(here("{{ unknown == other }}{{ unknown == none }}{{ unknown != none }}") ==
        "TrueFalseTrue");
  CHECK(here("{{ 'a' in unknown }}{{ unknown in ['a'] }}") == "FalseFalse");
  CHECK(here("{{ unknown ~ 'a' }}") == "a");
}

TEST_CASE("A member of what is undefined, and arithmetic and order with it, are errors") {
  CHECK(here("{{ context.missing.deep }}") ==
        "error: 'missing' is undefined and has no member 'deep'");
  CHECK(fails("{{ context.missing['deep'] }}"));
  CHECK(fails("{{ unknown.x }}"));
  CHECK(fails("{{ unknown + 1 }}"));
  CHECK(fails("{{ 1 - unknown }}"));
  CHECK(fails("{{ -unknown }}"));
  CHECK(fails("{{ unknown < 1 }}"));
  CHECK(fails("{{ 1 >= unknown }}"));
}

TEST_CASE("A member of null is undefined, not an error") {
  CHECK(here("[{{ context.nil.x }}]{{ context.nil.x is defined }}") == "[]False");
}

TEST_CASE("Dots and brackets look up keys and positions and nothing else") {
  CHECK(here("{{ context.items }}") == "3");
  CHECK(here("{{ context.list.0 }}{{ context.list[-1] }}{{ context.matrix.0.1 }}") == "ab2");
  CHECK(here("{{ 'né'[1] }}{{ 'né'[-2] }}") == "én");
  CHECK(here("{{ context['n'] }}{{ context.object['k'] }}") == "51.0");
  CHECK(here("[{{ context.a.upper }}{{ context.list.append }}{{ context.n.real }}]") == "[]");
  CHECK(here("[{{ context.list['x'] }}{{ context.list[true] }}{{ context.object[0] }}]") == "[]");
  CHECK(here("[{{ context.__class__ }}{{ context.a.__class__ }}]") == "[]");
}

TEST_CASE(
    "Operators bind from the loosest to the tightest: if, or, and, not, comparisons, +, ~, *") {
  CHECK(here("{{ 2 + 3 * 4 }} {{ 10 - 2 - 3 }} {{ 2 * 3 % 4 }}") == "14 5 2");
  CHECK(here("{{ 'a' ~ 2 * 3 }}") == "a6");
  CHECK(here("{{ not 1 == 2 }} {{ true or false and false }}") == "True True");
  CHECK(here("{{ 1 if false else 2 if false else 3 }}") == "3");
  CHECK(here("{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }}") == "True False");
  CHECK(here("{{ '12' | int + 1 }}") == "13");
  CHECK(here("{{ -7 | abs }}") == "-7");
  CHECK(here("{{ -7 is number }}") == "True");
  CHECK(here("{{ context.a is string and context.n is number }}") == "True");
  CHECK(here("{{ not context.missing is defined }}") == "True");
}

TEST_CASE("Slash gives a double; floor division and remainder go downwards") {
  CHECK(here("{{ 7 / 2 }} {{ 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }}") ==
        "3.5 2.0 3 -4 2 -2");
  CHECK(here("{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }}") == "3.0 0.5 -0.5");
  CHECK(here("{{ (-9223372036854775807 - 1) % -1 }}") == "0");
  CHECK(fails("{{ (-9223372036854775807 - 1) // -1 }}"));
  CHECK(here("{{ 1 // 0 }}") == "error: division by zero");
  CHECK(here("{{ 1 % 0 }}") == "error: division by zero");
  CHECK(here("{{ 1.5 % 0 }}") == "error: division by zero");
}

TEST_CASE("And and or give an operand") {
  CHECK(here("{{ '' or 'x' }}{{ 1 and 'z' }}{{ 0 and 1 / 0 }}{{ (context.count or 0) + 1 }}") ==
        "xz01");
}

TEST_CASE("Strings and lists can be repeated, within bounds") {
  CHECK(
      here(
          "{{ '=' * 3 }}{{ 2 * 'ab' }}{{ [1] * 2 }}{{ 'a' * -1 }}{{ '' * 9223372036854775807 }}") ==
      "===abab[1, 1]");
  CHECK(fails("{{ 'ab' * 9223372036854775807 }}"));
  CHECK(fails("{{ [1] * 100000000 }}"));
}

TEST_CASE("Literals are those of Python and JSON") {
  CHECK(here("{{ true }}{{ False }}{{ none }}{{ None }}") == "TrueFalseNoneNone");
  CHECK(here("{{ {'a': {'b': [1, 2.0]}}}}") == R"({"a": {"b": [1, 2.0]}})");
  CHECK(here("{{ [1, 2,] }}{{ (1, 'a') }}{{ {'a': 1,} }}") == R"([1, 2][1, "a"]{"a": 1})");
  CHECK(here(R"({{ 'it\'s' }}{{ "\n\x41\u00e9\101\q" }})") == "it's\nAéA\\q");
  CHECK(here("{{ '}}' }}{{ '%}' }}{% if '%}' %}y{% endif %}") == "}}%}y");
  CHECK(fails("{{ {1: 2} }}"));
}

TEST_CASE("A choice without an else is undefined when it does not hold") {
  CHECK(here("[{{ 'only' if false }}]{{ (1 if false) is defined }}") == "[]False");
}

TEST_CASE("If takes the first branch that holds and looks at no other") {
  CHECK(here("{% if 0 %}a{% elif 1 %}b{% elif 1 / 0 %}c{% else %}d{% endif %}") == "b");
  CHECK(here("{%if 0%}a{%else%}b{%endif%}") == "b");
}

TEST_CASE("For goes over lists, keys and characters, and knows where it is") {
  CHECK(here("{% for x in context.list %}{{ loop.index }}/{{ loop.length }}{{ x }}"
             "{% if not loop.last %}, {% endif %}{% endfor %}") == "1/2a, 2/2b");
  CHECK(here("{% for x in 'né' %}{{ loop.index0 }}{{ x }}{{ loop.first }}{% endfor %}") ==
        "0nTrue1éFalse");
  CHECK(here("{% for k in context.object %}{{ k }}={{ context.object[k] }};{% endfor %}") ==
        "k=1.0;j=[1, null, true];");
  CHECK(here("{% for a, b in context.pairs %}{{ a }}{{ b }}{% endfor %}") == "a1b2");
  CHECK(here("{% for x in context.numbers if x > 1 %}{{ loop.index }}{{ x }} {% endfor %}") ==
        "13 22 ");
  CHECK(here("{% for x in [1] %}{% for y in [1, 2] %}{{ loop.index }}{% endfor %}{{ loop.index }}"
             "{% endfor %}") == "121");
  CHECK(here("{% for x in [] %}a{% else %}none{% endfor %}") == "none");
  CHECK(fails("{% for x in 5 %}{% endfor %}"));
  CHECK(fails("{% for x in none %}{% endfor %}"));
  CHECK(fails("{% for a, b in [[1]] %}{% endfor %}"));
}

TEST_CASE("What is set in a loop ends with its round; in an if it stays") {
  CHECK(here("{% set x = 1 %}{% for i in [2, 3] %}{% set x = i %}{{ x }}{% endfor %}{{ x }}") ==
        "231");
  CHECK(here("{% if 1 %}{% set x = 2 %}{% endif %}{{ x }}") == "2");
  CHECK(here("{% for x in [1] %}{% endfor %}[{{ x }}]") == "[]");
  CHECK(here("{% set x = context.matrix %}{% set x = x[0] %}{% set x = x[1] %}{{ x }}") == "2");
  CHECK(here("{% set x = [[1, 2]] %}{% set x = x[0] %}{% set x = x[1] %}{{ x }}") == "2");
  CHECK(here("{% set x %}a{{ context.n }}{% endset %}{{ x | upper }}") == "A5");
  CHECK(here("{% set context = 1 %}{{ context }}") == "1");
}

TEST_CASE("A dash trims white space on its side") {
  CHECK(here("{%- if 1 -%}  tight  {%- endif -%} end") == "tightend");
  CHECK(here("a {{- 1 -}} b") == "a1b");
  CHECK(here("a {#- c -#} b{{ 1 }}") == "ab1");
  CHECK(here("a\n{%- if 1 %}\nb\n{%- endif %}\nc") == "a\nb\nc");
  CHECK(here("{{-1}}") == "1");
  CHECK(here("a {%+ if 1 +%} b {% endif %}") == "a  b ");
}

TEST_CASE("One final newline of a template is dropped, and line ends are newlines") {
  CHECK(here("{{ 1 }}\n") == "1");
  CHECK(here("{{ 1 }}\n\n") == "1\n");
  CHECK(here("{{ 1 }}\r\n") == "1");
  CHECK(here("a\r\nb{{ 1 }}") == "a\nb1");
  CHECK(here("{{ 'a\\n' }}") == "a\n");
}

TEST_CASE("Comments are left out, also with tags in them") {
  CHECK(here("a{# {{ not }} {% even %} #}b{{ 1 }}") == "ab1");
  CHECK(is_refused("{{ 1 }}{# open"));
}

TEST_CASE("Constructs outside the subset are refused") {
  CHECK(is_refused("{{ context.a.upper() }}"));
  CHECK(is_refused("{{ range(3) }}"));
  CHECK(is_refused("{{ context.list[0:1] }}"));
  CHECK(is_refused("{{ context.list[:1] }}"));
  CHECK(is_refused("{{ 2 ** 3 }}"));
  CHECK(is_refused("{% include 'x' %}"));
  CHECK(is_refused("{% macro f() %}{% endmacro %}"));
  CHECK(is_refused("{{ x | map('string') }}"));
  CHECK(is_refused("{{ x is even }}"));
  CHECK(is_refused("{{ x is defined is none }}"));
}

TEST_CASE("Broken templates are refused") {
  CHECK(is_refused("{{ }}"));
  CHECK(is_refused("{{ 1"));
  CHECK(is_refused("{{ 1 %}"));
  CHECK(is_refused("{{ 'open }}"));
  CHECK(is_refused("{% if 1 %}x"));
  CHECK(is_refused("{% if %}{% endif %}"));
  CHECK(is_refused("{% endif %}"));
  CHECK(is_refused("{% for x in [1] %}{% endif %}"));
  CHECK(is_refused("{% if 1 %}{% else %}{% elif 1 %}{% endif %}"));
  CHECK(is_refused("{% if 1 %}{% else 1 %}{% endif %}"));
  CHECK(is_refused("{% for 5 in x %}{% endfor %}"));
  CHECK(is_refused("{% for loop in x %}{% endfor %}"));
  CHECK(is_refused("{% for x of x %}{% endfor %}"));
  CHECK(is_refused("{% set true = 1 %}"));
  CHECK(is_refused("{% set x 1 %}"));
  CHECK(is_refused("{% %}"));
  CHECK(is_refused("{{ a| }}"));
  CHECK(is_refused("{{ a is not }}"));
  CHECK(is_refused("{{ a. }}"));
  CHECK(is_refused("{{ and }}"));
}

TEST_CASE("Blocks and expressions nest 64 levels deep and no deeper") {
  CHECK(here(repeated("{% if 1 %}", 64) + "x" + repeated("{% endif %}", 64)) == "x");
  CHECK(is_refused(repeated("{% if 1 %}", 65) + "x" + repeated("{% endif %}", 65)));
  CHECK(is_refused(repeated("{% if 1 %}", 10'000)));
  CHECK(is_refused("{{ " + repeated("not ", 65) + "1 }}"));
  CHECK(is_refused("{{ " + repeated("1 if 0 else ", 100) + "1 }}"));
  CHECK(is_refused("{{ " + repeated("{'a': ", 65) + "1" + repeated("}", 65) + " }}"));
  CHECK(here("{{ 1" + repeated(" ~ 1", 10'000) + " }}") == repeated("1", 10'001));
  CHECK(here("{{ 'a'" + repeated(" | string", 10'000) + " }}") == "a");
  CHECK(here("{% if 0 %}" + repeated("{% elif 0 %}", 10'000) + "{% else %}x{% endif %}") == "x");
}

TEST_CASE("A template that would take too long, or write too much, is stopped") {
  CHECK(
      fails("{% set l = [1] * 1000 %}{% for a in l %}{% for b in l %}{% for c in l %}"
            "{% endfor %}{% endfor %}{% endfor %}"));
  CHECK(fails("{% set s = 'x' * 1000000 %}{% for i in [1] * 100 %}{{ s }}{% endfor %}"));
  CHECK(fails("{% for i in [1] * 1000 %}{% set s = 'x' * 1000000 %}{% endfor %}"));
  CHECK(fails("{% set s = 'x' * 10000000 %}{% set t = s ~ s %}"));
  CHECK(fails(repeated("{% set x = [x] %}", 1'000)));
}

}  // namespace
}  // namespace treaty::templates
