#include "treaty/base/schema/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "treaty/base/schema/equality.h"
#include "treaty/base/schema/messages.h"

namespace treaty::schema {
namespace {

using json::Type;
using json::Value;

// How many schemas may be at work at once, one inside the other: the stack has an end.
constexpr int kDeepest = 256;

std::uint8_t bit_of(Type type) {
  switch (type) {
    case Type::null: return kNull;
    case Type::boolean: return kBoolean;
    case Type::integer: return kInteger;
    case Type::decimal: return kNumber;
    case Type::string: return kString;
    case Type::array: return kArray;
    case Type::object: return kObject;
  }
  return 0;
}

// Where a number stands beside a bound, without making decimals of two integers.
std::strong_ordering compare(Value value, const Bound& bound) {
  const auto whole = bound.whole ? value.integer() : std::nullopt;
  if (whole) return *whole <=> *bound.whole;
  return Decimal(value.source()) <=> bound.number;
}

bool is_multiple(Value value, const Bound& divisor) {
  const auto whole = divisor.whole ? value.integer() : std::nullopt;
  if (whole && *divisor.whole > 0) return *whole % *divisor.whole == 0;
  return Decimal(value.source()).is_multiple_of(divisor.number);
}

std::uint64_t count_characters(std::string_view utf8) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

}  // namespace

Schema::Mismatch Evaluation::take_mismatch() {
  Schema::Mismatch mismatch{.message = std::move(refusal_.message)};
  for (const std::string& token : std::views::reverse(refusal_.way)) {
    json::append_pointer_token(mismatch.where, token);
  }
  return mismatch;
}

bool Evaluation::refuse_for_type(std::string expected, Value value) {
  if (!finds_words()) return false;
  refusal_ = {.message = fmt::format("expected {}, got {}", expected, describe_kind(value)),
              .expected = std::move(expected),
              .other_type = true};
  return false;
}

bool Evaluation::refuse_for_value(std::string expected, Value value) {
  if (!finds_words()) return false;
  refusal_ = {.message = fmt::format("expected {}, got {}", expected, describe_value(value)),
              .expected = std::move(expected)};
  return false;
}

bool Evaluation::refuse_below(std::string_view name) {
  if (explaining_) refusal_.way.emplace_back(name);
  return false;
}

bool Evaluation::refuse_below(std::size_t place) {
  if (explaining_) refusal_.way.push_back(std::to_string(place));
  return false;
}

bool Evaluation::fits(NodeIndex index, Value value) {
  if (depth_ >= kDeepest) budget_.end();
  if (!budget_.spend()) return false;
  ++depth_;
  const bool result = fits_inside(nodes_[index], value);
  --depth_;
  return result;
}

bool Evaluation::fits_inside(const SchemaNode& node, Value value) {
  if (node.refuses_all) {
    return refuse([] { return std::string("nothing is allowed here; leave it out"); });
  }
  if (!has_type(node.types, value)) {
    return refuse_for_type(explaining_ ? describe_types(node.types) : "", value);
  }
  if (node.constant && !is_equal(*node.constant, value, budget_)) {
    return refuse_for_value(explaining_ ? describe_value(*node.constant) : "", value);
  }
  if (node.choice && !fits_choice(*node.choice, value)) return false;
  if (node.number && value.is_number() && !fits_number(*node.number, value)) return false;
  if (node.text && value.is_string() && !fits_text(*node.text, value.text())) return false;
  if (node.array && value.is_array() && !fits_array(*node.array, value)) return false;
  if (node.object && value.is_object() && !fits_object(*node.object, value)) return false;
  return !node.combination || fits_combination(*node.combination, value);
}

bool Evaluation::has_type(std::uint8_t types, Value value) const {
  if ((types & bit_of(value.type())) != 0) return true;
  // 1.0 is an integer.
  return value.type() == Type::decimal && (types & kInteger) != 0 &&
         Decimal(value.source()).is_whole();
}

bool Evaluation::fits_choice(const ChoiceRules& rules, Value value) {
  const auto equals = [&](Value choice) { return is_equal(choice, value, budget_); };
  if (value.is_string() ? std::ranges::binary_search(rules.strings, value.text())
                        : std::ranges::any_of(rules.others, equals)) {
    return true;
  }
  if (!explaining_) return false;
  std::vector<std::string> words;
  for (const Value choice : rules.values.elements()) {
    if (!budget_.spend()) return false;
    words.push_back(describe_value(choice));
  }
  return refuse_for_value(words.empty() ? "nothing at all" : joined(words), value);
}

bool Evaluation::fits_number(const NumberRules& rules, Value value) {
  const auto refuse_number = [&](std::string_view words, const Bound& bound) {
    return refuse([&] {
      return fmt::format("expected {} {}, got {}", words, beginning(bound.source),
                         describe_value(value));
    });
  };
  if (rules.minimum && compare(value, *rules.minimum) < 0) {
    return refuse_number("at least", *rules.minimum);
  }
  if (rules.maximum && compare(value, *rules.maximum) > 0) {
    return refuse_number("at most", *rules.maximum);
  }
  if (rules.exclusive_minimum && compare(value, *rules.exclusive_minimum) <= 0) {
    return refuse_number("more than", *rules.exclusive_minimum);
  }
  if (rules.exclusive_maximum && compare(value, *rules.exclusive_maximum) >= 0) {
    return refuse_number("less than", *rules.exclusive_maximum);
  }
  if (rules.multiple_of && !is_multiple(value, *rules.multiple_of)) {
    return refuse_number("a multiple of", *rules.multiple_of);
  }
  return true;
}

bool Evaluation::fits_text(const TextRules& rules, std::string_view text) {
  if (rules.least > 0 || rules.most != kNoLimit) {
    budget_.spend(text.size() / 64);
    const std::uint64_t size = count_characters(text);
    if (size < rules.least || size > rules.most) {
      return refuse([&] {
        const bool few = size < rules.least;
        return fmt::format("expected at {} {}, got {}", few ? "least" : "most",
                           counted(few ? rules.least : rules.most, "character"), size);
      });
    }
  }
  if (rules.pattern && !rules.pattern->matches(text, budget_)) {
    return refuse([&] {
      return fmt::format("expected text that matches the pattern {}",
                         beginning(rules.pattern_source, 200));
    });
  }
  return true;
}

bool Evaluation::has_size(const ArrayRules& rules, std::size_t size) {
  if (size >= rules.least && size <= rules.most) return true;
  return refuse([&] {
    const bool few = size < rules.least;
    return fmt::format("expected at {} {}, got {}", few ? "least" : "most",
                       counted(few ? rules.least : rules.most, "item"), size);
  });
}

bool Evaluation::fits_array(const ArrayRules& rules, Value array) {
  std::size_t place = 0;
  for (const Value element : array.elements()) {
    const NodeIndex schema = place < rules.prefix.size() ? rules.prefix[place] : rules.items;
    if (schema != kNone && !fits(schema, element)) return refuse_below(place);
    ++place;
  }
  budget_.spend(place / 16);
  if (!has_size(rules, place)) return false;
  if (rules.contains != kNone && !contains_enough(rules, array)) return false;
  if (!rules.unique) return true;
  const auto repeated = find_repeated(array, budget_);
  if (!repeated) return true;
  refuse([&] {
    return fmt::format("expected items that differ; this one equals item {}", repeated->second);
  });
  return refuse_below(repeated->first);
}

}  // namespace treaty::schema
