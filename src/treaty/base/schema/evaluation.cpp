#include "treaty/base/schema/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

#include "treaty/base/schema/messages.h"
#include "treaty/base/text.h"

namespace treaty::schema {
namespace {

using json::Type;
using json::Value;

// How many schemas may be at work at once, one inside the other: the stack has an end.
constexpr int kDeepest = 256;

// As many required names are ticked off on the way; of more than that the rest is looked for.
constexpr std::size_t kTicked = 64;

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

constexpr NodeIndex kRoot = 0;

// A step is some ten nanoseconds. Large values get more: each byte may be looked at.
constexpr std::int64_t kSteps = 1'000'000;

// One question. Silent it only finds out whether the value fits, and allocates next to nothing;
// otherwise it also finds words for why not.
class Evaluation {
 public:
  enum class Manner { silent, explaining };

  Evaluation(const std::vector<SchemaNode>& nodes, Budget budget, Manner manner)
      : nodes_(nodes), budget_(budget), explaining_(manner == Manner::explaining) {}

  bool fits(NodeIndex index, Value value) {
    if (depth_ >= kDeepest) budget_.end();
    if (!budget_.spend()) return false;
    ++depth_;
    const bool result = fits_inside(nodes_[index], value);
    --depth_;
    return result;
  }

  // Once it is spent, what `fits` said means nothing.
  bool is_spent() const { return budget_.is_spent(); }

  // After an explained refusal.
  Schema::Mismatch take_mismatch() {
    Schema::Mismatch mismatch{.message = std::move(refusal_.message)};
    for (const std::string& token : std::views::reverse(refusal_.way)) {
      json::append_pointer_token(mismatch.where, token);
    }
    return mismatch;
  }

 private:
  // Why a value was refused. `expected` is there where only the kind of value or the value itself
  // is wrong, so that alternatives can be told in one sentence.
  struct Refusal {
    std::vector<std::string> way{};  // From the inside out.
    std::string message;
    std::string expected{};
    bool other_type = false;
    bool of_alternatives = false;  // The message tells of them already.
  };

  // Words cost more than steps.
  bool finds_words(std::uint64_t steps = 8) { return explaining_ && budget_.spend(steps); }

  bool refuse(auto make_message) {
    if (finds_words()) refusal_ = {.message = make_message()};
    return false;
  }

  // Without looking for words.
  bool fits_silently(NodeIndex index, Value value) {
    const bool before = std::exchange(explaining_, false);
    const bool result = fits(index, value);
    explaining_ = before;
    return result;
  }

  bool refuse_for_type(std::string expected, Value value) {
    if (!finds_words()) return false;
    refusal_ = {.message = fmt::format("expected {}, got {}", expected, describe_kind(value)),
                .expected = std::move(expected),
                .other_type = true};
    return false;
  }

  bool refuse_for_value(std::string expected, Value value) {
    if (!finds_words()) return false;
    refusal_ = {.message = fmt::format("expected {}, got {}", expected, describe_value(value)),
                .expected = std::move(expected)};
    return false;
  }

  bool refuse_below(std::string_view name) {
    if (explaining_) refusal_.way.emplace_back(name);
    return false;
  }

  bool refuse_below(std::size_t place) {
    if (explaining_) refusal_.way.push_back(std::to_string(place));
    return false;
  }

  bool fits_inside(const SchemaNode& node, Value value) {
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

  bool has_type(std::uint8_t types, Value value) const {
    if ((types & bit_of(value.type())) != 0) return true;
    // 1.0 is an integer.
    return value.type() == Type::decimal && (types & kInteger) != 0 &&
           Decimal(value.source()).is_whole();
  }

  bool fits_choice(const ChoiceRules& rules, Value value) {
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

  bool fits_number(const NumberRules& rules, Value value) {
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

  bool fits_text(const TextRules& rules, std::string_view text) {
    if (rules.least > 0 || rules.most != kNoLimit) {
      budget_.spend(text.size() / 64);
      if (!has_count(count_characters(text), rules.least, rules.most, "character")) return false;
    }
    if (rules.pattern && !rules.pattern->matches(text, budget_)) {
      return refuse([&] {
        return fmt::format("expected text that matches the pattern {}",
                           beginning(rules.pattern_source, 200));
      });
    }
    return true;
  }

  bool has_count(std::uint64_t count, std::uint64_t least, std::uint64_t most,
                 std::string_view noun) {
    if (count >= least && count <= most) return true;
    return refuse([&] {
      const bool few = count < least;
      return fmt::format("expected at {} {}, got {}", few ? "least" : "most",
                         counted(few ? least : most, noun), count);
    });
  }

  bool fits_array(const ArrayRules& rules, Value array) {
    std::size_t place = 0;
    for (const Value element : array.elements()) {
      const NodeIndex schema = place < rules.prefix.size() ? rules.prefix[place] : rules.items;
      if (schema != kNone && !fits(schema, element)) return refuse_below(place);
      ++place;
    }
    budget_.spend(place / 16);
    if (!has_count(place, rules.least, rules.most, "item")) return false;
    if (rules.contains != kNone && !contains_enough(rules, array)) return false;
    if (!rules.unique) return true;
    const auto repeated = find_repeated(array, budget_);
    if (!repeated) return true;
    refuse([&] {
      return fmt::format("expected items that differ; this one equals item {}", repeated->second);
    });
    return refuse_below(repeated->first);
  }

  bool fits_object(const ObjectRules& rules, Value object) {
    std::uint64_t seen = 0;
    std::uint64_t size = 0;
    for (const json::Member member : object.members()) {
      if (!budget_.spend()) return false;
      const KnownName* const known = rules.find(member.name.text());
      if (known != nullptr) {
        const auto place = static_cast<std::size_t>(known - rules.names.data());
        if (place < kTicked) seen |= std::uint64_t{1} << place;
      }
      if (!fits_member(rules, known, member)) return false;
      ++size;
    }
    return has_required(rules, object, seen) &&
           has_count(size, rules.least, rules.most, "member") && has_dependent(rules, object);
  }

  bool fits_member(const ObjectRules& rules, const KnownName* known, const json::Member& member) {
    const std::string_view name = member.name.text();
    if (rules.name_schema != kNone && !fits_name(rules, member)) return false;
    bool described = false;
    if (known != nullptr && known->property != kNone) {
      described = true;
      if (!fits(known->property, member.value)) return refuse_below(name);
    }
    for (const PatternProperty& property : rules.patterns) {
      if (!budget_.spend()) return false;
      if (!property.pattern.matches(name, budget_)) continue;
      described = true;
      if (!fits(property.property, member.value)) return refuse_below(name);
    }
    if (described || rules.additional == kNone) return true;
    if (nodes_[rules.additional].refuses_all) return refuse_unknown(rules, name);
    return fits(rules.additional, member.value) || refuse_below(name);
  }

  bool fits_name(const ObjectRules& rules, const json::Member& member) {
    if (fits(rules.name_schema, member.name)) return true;
    const std::string_view name = member.name.text();
    if (finds_words()) {
      refusal_ = {.message = fmt::format("the name {} is not allowed here: {}", quote(name),
                                         refusal_.message)};
    }
    return refuse_below(name);
  }

  bool refuse_unknown(const ObjectRules& rules, std::string_view name) {
    if (!finds_words(8 * (1 + rules.names.size()))) return false;
    std::vector<std::string_view> known;
    std::vector<std::string> words;
    for (const KnownName& one : rules.names) {
      if (one.property == kNone) continue;
      known.push_back(one.name);
      words.push_back(quote(one.name));
    }
    std::string message = fmt::format("there is no member {} here", quote(name));
    const std::string_view meant = known.size() <= 1000 ? closest(known, name) : "";
    if (!meant.empty()) {
      message += fmt::format("; did you mean {}?", quote(meant));
    } else if (rules.patterns.empty()) {
      message += words.empty() ? "; leave it out" : fmt::format("; expected {}", joined(words));
    }
    refusal_ = {.message = std::move(message)};
    return refuse_below(name);
  }

  bool has_required(const ObjectRules& rules, Value object, std::uint64_t seen) {
    for (std::size_t i = 0; i < rules.names.size(); ++i) {
      const KnownName& known = rules.names[i];
      if (!known.required) continue;
      if (i < kTicked) {
        if (((seen >> i) & 1U) != 0) continue;
      } else {
        if (!budget_.spend(1 + (object.end() - object.begin()) / 64)) return false;
        if (object.members().find(known.name)) continue;
      }
      return refuse([&] { return fmt::format("the member {} is missing", quote(known.name)); });
    }
    return true;
  }

  bool has_dependent(const ObjectRules& rules, Value object) {
    const std::uint64_t look = 1 + (object.end() - object.begin()) / 64;
    for (const Dependence& dependence : rules.dependences) {
      if (!budget_.spend(look)) return false;
      if (!object.members().find(dependence.name)) continue;
      for (const std::string_view name : dependence.required) {
        if (!budget_.spend(look)) return false;
        if (object.members().find(name)) continue;
        return refuse([&] {
          return fmt::format("the member {} is missing; it goes with {}", quote(name),
                             quote(dependence.name));
        });
      }
      if (dependence.schema != kNone && !fits(dependence.schema, object)) return false;
    }
    return true;
  }

  bool fits_combination(const Combination& combination, Value value) {
    if (combination.reference != kNone && !fits(combination.reference, value)) return false;
    for (const NodeIndex schema : combination.all_of) {
      if (!fits(schema, value)) return false;
    }
    if (!combination.any_of.empty() && !fits_any(combination.any_of, value)) return false;
    if (!combination.one_of.empty() && !fits_one(combination.one_of, value)) return false;
    if (combination.negated != kNone && fits_silently(combination.negated, value)) {
      return refuse([&] {
        return fmt::format("expected something else: {} is what \"not\" rules out",
                           describe_value(value));
      });
    }
    return fits_condition(combination, value);
  }

  bool fits_any(const std::vector<NodeIndex>& alternatives, Value value) {
    std::vector<Refusal> refusals;
    for (const NodeIndex schema : alternatives) {
      if (fits(schema, value)) return true;
      if (explaining_) refusals.push_back(std::move(refusal_));
    }
    return refuse_alternatives(std::move(refusals), value);
  }

  bool fits_one(const std::vector<NodeIndex>& alternatives, Value value) {
    std::vector<Refusal> refusals;
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < alternatives.size() && fitting.size() < 2; ++i) {
      if (fits(alternatives[i], value)) {
        fitting.push_back(i);
      } else if (explaining_) {
        refusals.push_back(std::move(refusal_));
      }
    }
    if (fitting.size() == 1) return true;
    if (fitting.empty()) return refuse_alternatives(std::move(refusals), value);
    return refuse([&] {
      return fmt::format(
          "expected exactly one of {} alternatives to fit, but numbers {} and {} both do",
          alternatives.size(), fitting[0] + 1, fitting[1] + 1);
    });
  }

  bool fits_condition(const Combination& combination, Value value) {
    if (combination.condition == kNone) return true;
    if (combination.consequence == kNone && combination.alternative == kNone) return true;
    const bool holds = fits_silently(combination.condition, value);
    const NodeIndex next = holds ? combination.consequence : combination.alternative;
    return next == kNone || fits(next, value);
  }

  bool contains_enough(const ArrayRules& rules, Value array) {
    std::uint64_t found = 0;
    for (const Value element : array.elements()) {
      if (fits_silently(rules.contains, element)) ++found;
      if (found > rules.most_contained || budget_.is_spent()) break;
      if (found >= rules.least_contained && rules.most_contained == kNoLimit) return true;
    }
    if (found >= rules.least_contained && found <= rules.most_contained) return true;
    return refuse([&] {
      const bool few = found < rules.least_contained;
      return fmt::format("expected at {} of the kind that \"contains\" asks for, got {}{}",
                         few ? "least " + counted(rules.least_contained, "item")
                             : "most " + counted(rules.most_contained, "item"),
                         few ? "" : "more than ", few ? found : rules.most_contained);
    });
  }

  // What would help most: all that could stand here in one sentence where that is possible, else

  // what the alternative lacks that came nearest.

  bool refuse_alternatives(std::vector<Refusal> refusals, Value value) {
    if (!explaining_ || refusals.empty()) return false;
    if (std::ranges::all_of(refusals, [](const Refusal& one) {
          return one.way.empty() && !one.expected.empty();
        })) {
      std::vector<std::string> words;
      for (const Refusal& one : refusals) {
        if (std::ranges::find(words, one.expected) == words.end()) words.push_back(one.expected);
      }
      const bool other_type = std::ranges::all_of(refusals, &Refusal::other_type);
      return other_type ? refuse_for_type(joined(words), value)
                        : refuse_for_value(joined(words), value);
    }
    // Another type means another alternative was meant; so does another value, which is often the
    // mark that tells them apart.
    const auto nearness = [](const Refusal& one) {
      const bool at_all = !(one.way.empty() && one.other_type);
      return std::tuple(at_all, one.expected.empty() || one.other_type, one.way.size());
    };
    const auto nearest = std::ranges::max_element(refusals, {}, nearness);
    const auto meant = std::ranges::count_if(
        refusals, [](const Refusal& one) { return !(one.way.empty() && one.other_type); });
    refusal_ = std::move(*nearest);
    refusal_.expected.clear();
    if (meant > 1 && !std::exchange(refusal_.of_alternatives, true)) {
      refusal_.message = fmt::format("fits none of {} alternatives; the nearest says: {}",
                                     refusals.size(), refusal_.message);
    }
    return false;
  }

  const std::vector<SchemaNode>& nodes_;
  Budget budget_;
  bool explaining_;
  int depth_ = 0;
  Refusal refusal_;
};

}  // namespace

const KnownName* ObjectRules::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(names, name, is_before, &KnownName::name);
  return found != names.end() && found->name == name ? &*found : nullptr;
}

// Most values fit; words are looked for only when one does not.
std::optional<Schema::Mismatch> find_mismatch(const std::vector<SchemaNode>& nodes, Value value) {
  const Budget budget(kSteps + static_cast<std::int64_t>(value.end() - value.begin()));
  const auto ask = [&](Evaluation& evaluation) {
    return evaluation.fits(kRoot, value) && !evaluation.is_spent();
  };
  Evaluation silent(nodes, budget, Evaluation::Manner::silent);
  if (ask(silent)) return std::nullopt;
  if (silent.is_spent()) {
    return Schema::Mismatch{.message =
                                "takes too many steps to check against the schema; send a smaller "
                                "or less deeply nested value"};
  }
  Evaluation explaining(nodes, budget, Evaluation::Manner::explaining);
  if (!ask(explaining) && !explaining.is_spent()) return explaining.take_mismatch();
  return Schema::Mismatch{.message = "does not fit the schema, in too many ways to tell"};
}

}  // namespace treaty::schema
