// Asks a program about a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/schema/budget.h"
#include "treaty/base/schema/program.h"

namespace treaty::schema {

// One question. Silent it only finds out whether the value fits, and allocates next to nothing;
// otherwise it also finds words for why not.
class Evaluation {
 public:
  enum class Manner { silent, explaining };

  Evaluation(const std::vector<SchemaNode>& nodes, Budget budget, Manner manner)
      : nodes_(nodes), budget_(budget), explaining_(manner == Manner::explaining) {}

  bool fits(NodeIndex index, json::Value value);

  // Once it is spent, what `fits` said means nothing.
  bool is_spent() const { return budget_.is_spent(); }

  // After an explained refusal.
  Schema::Mismatch take_mismatch();

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
  class Silence;

  // Words cost more than steps.
  bool finds_words(std::uint64_t steps = 8) { return explaining_ && budget_.spend(steps); }

  bool refuse(auto make_message) {
    if (finds_words()) refusal_ = {.message = make_message()};
    return false;
  }
  bool refuse_for_type(std::string expected, json::Value value);
  bool refuse_for_value(std::string expected, json::Value value);
  bool refuse_below(std::string_view name);
  bool refuse_below(std::size_t place);

  bool fits_inside(const SchemaNode& node, json::Value value);
  bool has_type(std::uint8_t types, json::Value value) const;
  bool fits_choice(const ChoiceRules& rules, json::Value value);
  bool fits_number(const NumberRules& rules, json::Value value);
  bool fits_text(const TextRules& rules, std::string_view text);
  bool fits_array(const ArrayRules& rules, json::Value array);
  bool has_size(const ArrayRules& rules, std::size_t size);
  bool contains_enough(const ArrayRules& rules, json::Value array);
  bool fits_object(const ObjectRules& rules, json::Value object);
  bool fits_member(const ObjectRules& rules, const KnownName* known, const json::Member& member);
  bool fits_name(const ObjectRules& rules, const json::Member& member);
  bool has_required(const ObjectRules& rules, json::Value object, std::uint64_t seen);
  bool has_dependent(const ObjectRules& rules, json::Value object);
  bool refuse_unknown(const ObjectRules& rules, std::string_view name);
  bool fits_combination(const Combination& combination, json::Value value);
  bool fits_any(const std::vector<NodeIndex>& alternatives, json::Value value);
  bool fits_one(const std::vector<NodeIndex>& alternatives, json::Value value);
  bool fits_condition(const Combination& combination, json::Value value);
  bool refuse_alternatives(std::vector<Refusal> refusals, json::Value value);

  const std::vector<SchemaNode>& nodes_;
  Budget budget_;
  bool explaining_;
  int depth_ = 0;
  Refusal refusal_;
};

}  // namespace treaty::schema
