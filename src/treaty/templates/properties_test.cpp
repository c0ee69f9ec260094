// What holds for every condition and every template: random ones against a plain reading of them.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cmath>
#include <optional>
#include <random>

#include "treaty/base/text.h"
#include "treaty/testing/templates/evaluating.h"

namespace treaty::templates {
namespace {

using testing::Room;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return random_() % end; }
  bool one_in(std::size_t times) { return below(times) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  std::mt19937_64 random_;
};

// How tightly the outermost operator of a text binds.
enum Level { kOr, kAnd, kNot, kComparison, kSum, kProduct, kMinus, kAccess };

// A condition and what it comes to; nothing: an error.
struct Made {
  std::string text;
  Level level;
  std::optional<Dynamic> value;
};

std::string inside(const Made& made, Level least) {
  return made.level >= least ? made.text : "(" + made.text + ")";
}

std::optional<double> number_of(const Dynamic& value) {
  if (value.is_bool()) return value.get_bool() ? 1 : 0;
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_double()) return value.get_double();
  return std::nullopt;
}

bool is_whole(const Dynamic& value) { return value.is_bool() || value.is_int64(); }

// The numbers here are small: what fits into a double is exact.
std::optional<Dynamic> reference_calculate(char operation, const Dynamic& left,
                                           const Dynamic& right) {
  if (operation == '+' && left.is_string() && right.is_string()) {
    return boost::json::string(print(left) + print(right));
  }
  if (operation == '+' && left.is_array() && right.is_array()) {
    List list = left.get_array();
    for (const Dynamic& item : right.get_array()) list.push_back(item);
    return list;
  }
  const auto number = number_of(left);
  const auto other = number_of(right);
  if (!number || !other || (operation == '/' && *other == 0)) return std::nullopt;
  const double result = operation == '+'   ? *number + *other
                        : operation == '-' ? *number - *other
                        : operation == '*' ? *number * *other
                                           : *number / *other;
  if (operation != '/' && is_whole(left) && is_whole(right)) {
    return static_cast<std::int64_t>(result);
  }
  return result;
}

std::optional<Dynamic> reference_compare(std::string_view operation, const Dynamic& left,
                                         const Dynamic& right) {
  if (operation == "==") return are_equal(left, right);
  if (operation == "!=") return !are_equal(left, right);
  if (operation == "in" || operation == "not in") {
    bool found = false;
    if (right.is_array()) {
      for (const Dynamic& item : right.get_array()) found = found || are_equal(item, left);
    } else if (right.is_string() && left.is_string()) {
      found = print(right).contains(print(left));
    } else {
      return std::nullopt;
    }
    return found == (operation == "in");
  }
  const auto number = number_of(left);
  const auto other = number_of(right);
  const bool are_texts = left.is_string() && right.is_string();
  if (!are_texts && (!number || !other)) return std::nullopt;
  const int order = are_texts          ? print(left).compare(print(right))
                    : *number < *other ? -1
                    : *number > *other ? 1
                                       : 0;
  if (operation == "<") return order < 0;
  if (operation == "<=") return order <= 0;
  if (operation == ">") return order > 0;
  return order >= 0;
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : dice_(seed) {}

  Made make(int depth) {
    if (depth == 0 || dice_.one_in(6)) return leaf();
    switch (dice_.below(8)) {
      case 0: return logic(depth - 1);
      case 1: return negated(depth - 1);
      case 2: return comparison(depth - 1);
      case 3: return minus(depth - 1);
      case 4: return index(depth - 1);
      case 5: return list(depth - 1);
      default: return calculation(depth - 1);
    }
  }

 private:
  Made leaf() {
    if (dice_.one_in(3)) {
      return dice_.of<Made>({{"context.n", kAccess, Dynamic(5)},
                             {"context.name", kAccess, Dynamic("Ada")},
                             {"context.list", kAccess, Dynamic(List{1, "b"})},
                             {"context.missing", kAccess, Dynamic()},
                             {"result.deep.down", kAccess, Dynamic()}});
    }
    return dice_.of<Made>({{"0", kAccess, Dynamic(0)},
                           {"3", kAccess, Dynamic(3)},
                           {"2.5", kAccess, Dynamic(2.5)},
                           {"1e2", kAccess, Dynamic(100.0)},
                           {"'a'", kAccess, Dynamic("a")},
                           {"\"\"", kAccess, Dynamic("")},
                           {"true", kAccess, Dynamic(true)},
                           {"False", kAccess, Dynamic(false)},
                           {"null", kAccess, Dynamic()}});
  }

  Made logic(int depth) {
    const bool is_and = dice_.one_in(2);
    const Made left = make(depth);
    const Made right = make(depth);
    const Level level = is_and ? kAnd : kOr;
    Made made{inside(left, level) + (is_and ? " and " : " or ") +
                  inside(right, static_cast<Level>(level + 1)),
              level, std::nullopt};
    if (!left.value) return made;
    const bool is_decided = is_true(*left.value) != is_and;
    if (is_decided) {
      made.value = Dynamic(!is_and);
    } else if (right.value) {
      made.value = Dynamic(is_true(*right.value));
    }
    return made;
  }

  Made negated(int depth) {
    const Made operand = make(depth);
    Made made{"not " + inside(operand, kNot), kNot, std::nullopt};
    if (operand.value) made.value = Dynamic(!is_true(*operand.value));
    return made;
  }

  // Chains of up to three, so that an operand is compared on both sides.
  Made comparison(int depth) {
    Made left = make(depth);
    Made made{inside(left, kSum), kComparison, Dynamic(true)};
    if (!left.value) made.value = std::nullopt;
    for (std::size_t more = 1 + dice_.below(2); more > 0; --more) {
      const auto operation =
          dice_.of<std::string_view>({"==", "!=", "<", "<=", ">", ">=", "in", "not in"});
      Made right = make(depth);
      made.text += " " + std::string(operation) + " " + inside(right, kSum);
      if (made.value && is_true(*made.value)) {
        made.value =
            right.value ? reference_compare(operation, *left.value, *right.value) : std::nullopt;
      }
      left = std::move(right);
    }
    return made;
  }

  Made calculation(int depth) {
    const char operation = dice_.of({'+', '-', '*', '/'});
    const Level level = operation == '+' || operation == '-' ? kSum : kProduct;
    const Made left = make(depth);
    const Made right = make(depth);
    Made made{
        inside(left, level) + " " + operation + " " + inside(right, static_cast<Level>(level + 1)),
        level, std::nullopt};
    if (left.value && right.value) {
      made.value = reference_calculate(operation, *left.value, *right.value);
    }
    return made;
  }

  Made minus(int depth) {
    const Made operand = make(depth);
    Made made{"-" + inside(operand, kMinus), kMinus, std::nullopt};
    if (!operand.value) return made;
    const auto number = number_of(*operand.value);
    if (number && is_whole(*operand.value)) {
      made.value = Dynamic(-static_cast<std::int64_t>(*number));
    } else if (number) {
      made.value = Dynamic(-*number);
    }
    return made;
  }

  Made index(int depth) {
    const Made base = make(depth);
    const auto at = static_cast<std::int64_t>(dice_.below(5)) - 2;
    Made made{inside(base, kAccess) + "[" + std::to_string(at) + "]", kAccess, std::nullopt};
    if (!base.value) return made;
    if (base.value->is_null()) made.value = Dynamic();
    if (base.value->is_string()) {  // All of them are ASCII.
      const std::string text = print(*base.value);
      const auto size = static_cast<std::int64_t>(text.size());
      const std::int64_t from_begin = at < 0 ? at + size : at;
      const bool is_there = from_begin >= 0 && from_begin < size;
      made.value =
          is_there ? Dynamic(text.substr(static_cast<std::size_t>(from_begin), 1)) : Dynamic();
    }
    if (base.value->is_array()) {
      const List& list = base.value->get_array();
      const auto size = static_cast<std::int64_t>(list.size());
      const std::int64_t from_begin = at < 0 ? at + size : at;
      const bool is_there = from_begin >= 0 && from_begin < size;
      made.value = is_there ? list[static_cast<std::size_t>(from_begin)] : Dynamic();
    }
    return made;
  }

  Made list(int depth) {
    const std::size_t size = dice_.below(3);
    Made made{"[", kAccess, Dynamic(List{})};
    for (std::size_t i = 0; i < size; ++i) {
      const Made item = make(depth);
      made.text += (i == 0 ? "" : ", ") + item.text;
      if (!item.value) made.value = std::nullopt;
      if (made.value) made.value->get_array().push_back(*item.value);
    }
    made.text += "]";
    return made;
  }

  Dice dice_;
};

TEST_CASE("A condition comes to what a plain reading of its operators says") {
  CHECK(rc::check([](std::uint64_t seed) {
    Maker maker(seed);
    const Room room(R"({"context": {"n": 5, "name": "Ada", "list": [1, "b"]}})");
    for (int i = 0; i < 50; ++i) {
      const Made made = maker.make(4);
      RC_LOG() << made.text << '\n';

      const auto expression = Expression::parse(made.text);
      RC_ASSERT(expression.has_value());
      const auto value = expression->evaluate(room.scope);

      RC_ASSERT(value.has_value() == made.value.has_value());
      if (value) RC_ASSERT(print_json(*value) == print_json(*made.value));
    }
  }));
}

Dynamic any_value(Dice& dice, int depth, bool with_objects) {
  switch (dice.below(depth == 0 ? 5 : with_objects ? 7 : 6)) {
    case 0: return dice.of<Dynamic>({nullptr, true, false});
    case 1:
      return dice.of<Dynamic>({0, -1, 5, std::numeric_limits<std::int64_t>::max(),
                               -std::numeric_limits<std::int64_t>::max()});
    case 2: return dice.of<Dynamic>({0.0, 1.5, -2.25, 1e20, 1e-7, 5e-324, 1.7976931348623157e308});
    case 3:
      return dice.of<Dynamic>({"", "a", "it's \"quoted\"", "né\n\t\r\\", "\x01\x7f", "😀}}%}"});
    case 4: return Dynamic(std::string(dice.below(4), static_cast<char>('a' + dice.below(26))));
    case 5: {
      List list;
      for (std::size_t i = dice.below(4); i > 0; --i) {
        list.push_back(any_value(dice, depth - 1, with_objects));
      }
      return list;
    }
    default: {
      Object object;
      for (std::size_t i = dice.below(4); i > 0; --i) {
        object[std::string(1, static_cast<char>('a' + i))] = any_value(dice, depth - 1, true);
      }
      return object;
    }
  }
}

TEST_CASE("A value that is printed as JSON is a literal of conditions, objects aside") {
  CHECK(rc::check([](std::uint64_t seed) {
    Dice dice(seed);
    const std::string text = print_json(any_value(dice, 3, false));

    RC_ASSERT(testing::evaluated(text) == text);
  }));
}

TEST_CASE("What tojson writes, fromjson reads") {
  CHECK(rc::check([](std::uint64_t seed) {
    Dice dice(seed);
    const Dynamic value = any_value(dice, 3, true);
    const Scope scope{.context = &value};

    RC_ASSERT(testing::rendered("{{ context | tojson }}", scope) == print_json(value));
    RC_ASSERT(testing::rendered("{{ context | tojson | fromjson | tojson }}", scope) ==
              print_json(value));
    RC_ASSERT(testing::rendered("{{ (context | tojson(2) | fromjson) == context }}", scope) ==
              "True");
  }));
}

TEST_CASE("Texts without tags that are no path stay as they are") {
  CHECK(rc::check([](const std::string& bytes) {
    const std::string text = "! " + repaired_utf8(bytes);
    RC_PRE(!text.contains("{{") && !text.contains("{%"));

    RC_ASSERT(testing::rendered(text) == text);
  }));
}

// Pieces of templates in no order.
std::string any_pieces(Dice& dice) {
  std::string text;
  for (std::size_t i = dice.below(24); i > 0; --i) {
    text += dice.of<std::string_view>({"{{ ",
                                       " }}",
                                       "{% if ",
                                       " %}",
                                       "{% endif %}",
                                       "{% for x in ",
                                       "{% endfor %}",
                                       "{% set",
                                       "{# ",
                                       " #}",
                                       "-%}",
                                       "{%-",
                                       "context",
                                       ".list",
                                       ".name",
                                       "[0]",
                                       "[-1]",
                                       " + ",
                                       " - ",
                                       " * ",
                                       " ~ ",
                                       " and ",
                                       " in ",
                                       " not ",
                                       " is ",
                                       "none",
                                       "defined",
                                       "|upper",
                                       "|sort",
                                       "|join(",
                                       ")",
                                       "(",
                                       "'a'",
                                       "7",
                                       "2.5",
                                       "{",
                                       "}",
                                       ":",
                                       ",",
                                       "\xff",
                                       "é",
                                       "\n",
                                       "x",
                                       "loop",
                                       " = ",
                                       "|int",
                                       "|truncate(4)",
                                       "{% else %}",
                                       " if ",
                                       " else ",
                                       "|tojson",
                                       "|first",
                                       "//",
                                       "%",
                                       "\\",
                                       "'",
                                       "\"",
                                       "|replace",
                                       "result",
                                       "[",
                                       "]",
                                       "**",
                                       "{% elif "});
  }
  return text;
}

TEST_CASE("Whatever the bytes are, a template and a condition end with a value or a reason") {
  CHECK(rc::check([](std::uint64_t seed) {
    Dice dice(seed);
    const Room room(R"({"context": {"name": "Ada", "list": [1, "b", [2]]}, "x": {"a": 1}})");
    for (int i = 0; i < 20; ++i) {
      const std::string text = any_pieces(dice);
      const auto parsed = Template::parse(Dynamic(boost::json::string(text)));
      if (!parsed) {
        RC_ASSERT(!parsed.error().message.empty() && parsed.error().offset <= text.size());
      } else {
        const auto value = parsed->render(room.scope);
        if (!value) RC_ASSERT(!value.error().empty());
      }
      const auto expression = Expression::parse(text);
      if (!expression) RC_ASSERT(expression.error().offset <= text.size());
    }
  }));
}

}  // namespace
}  // namespace treaty::templates
