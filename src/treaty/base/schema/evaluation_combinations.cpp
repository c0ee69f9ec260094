// The part of the evaluation that asks several schemas about one value.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "treaty/base/schema/evaluation.h"
#include "treaty/base/schema/messages.h"

namespace treaty::schema {

using json::Value;

// While it lives nobody looks for words.
class Evaluation::Silence {
 public:
  explicit Silence(Evaluation& evaluation)
      : evaluation_(evaluation), before_(std::exchange(evaluation.explaining_, false)) {}
  ~Silence() { evaluation_.explaining_ = before_; }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  Evaluation& evaluation_;
  bool before_;
};

bool Evaluation::fits_combination(const Combination& combination, Value value) {
  if (combination.reference != kNone && !fits(combination.reference, value)) return false;
  for (const NodeIndex schema : combination.all_of) {
    if (!fits(schema, value)) return false;
  }
  if (!combination.any_of.empty() && !fits_any(combination.any_of, value)) return false;
  if (!combination.one_of.empty() && !fits_one(combination.one_of, value)) return false;
  if (combination.negated != kNone) {
    const auto is_negated = [&] {
      const Silence silence(*this);
      return fits(combination.negated, value);
    };
    if (is_negated()) {
      return refuse([&] {
        return fmt::format("expected something else: {} is what \"not\" rules out",
                           describe_value(value));
      });
    }
  }
  return fits_condition(combination, value);
}

bool Evaluation::fits_any(const std::vector<NodeIndex>& alternatives, Value value) {
  std::vector<Refusal> refusals;
  for (const NodeIndex schema : alternatives) {
    if (fits(schema, value)) return true;
    if (explaining_) refusals.push_back(std::move(refusal_));
  }
  return refuse_alternatives(std::move(refusals), value);
}

bool Evaluation::fits_one(const std::vector<NodeIndex>& alternatives, Value value) {
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

bool Evaluation::fits_condition(const Combination& combination, Value value) {
  if (combination.condition == kNone) return true;
  if (combination.consequence == kNone && combination.alternative == kNone) return true;
  bool holds = false;
  {
    const Silence silence(*this);
    holds = fits(combination.condition, value);
  }
  const NodeIndex next = holds ? combination.consequence : combination.alternative;
  return next == kNone || fits(next, value);
}

bool Evaluation::contains_enough(const ArrayRules& rules, Value array) {
  std::uint64_t found = 0;
  {
    const Silence silence(*this);
    for (const Value element : array.elements()) {
      if (fits(rules.contains, element)) ++found;
      if (found > rules.most_contained || budget_.is_spent()) break;
      if (found >= rules.least_contained && rules.most_contained == kNoLimit) return true;
    }
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
bool Evaluation::refuse_alternatives(std::vector<Refusal> refusals, Value value) {
  if (!explaining_ || refusals.empty()) return false;
  if (std::ranges::all_of(
          refusals, [](const Refusal& one) { return one.way.empty() && !one.expected.empty(); })) {
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

}  // namespace treaty::schema
