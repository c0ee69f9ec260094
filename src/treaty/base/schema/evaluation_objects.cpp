// The part of the evaluation that asks about the members of objects.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/schema/evaluation.h"
#include "treaty/base/schema/messages.h"
#include "treaty/base/text.h"

namespace treaty::schema {
namespace {

using json::Value;

// As many required names are ticked off on the way; of more than that the rest is looked for.
constexpr std::size_t kTicked = 64;

}  // namespace

const KnownName* ObjectRules::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(names, name, is_before, &KnownName::name);
  return found != names.end() && found->name == name ? &*found : nullptr;
}

bool Evaluation::fits_object(const ObjectRules& rules, Value object) {
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
  if (!has_required(rules, object, seen)) return false;
  if (size < rules.least || size > rules.most) {
    return refuse([&] {
      const bool few = size < rules.least;
      return fmt::format("expected at {} {}, got {}", few ? "least" : "most",
                         counted(few ? rules.least : rules.most, "member"), size);
    });
  }
  return has_dependent(rules, object);
}

bool Evaluation::fits_member(const ObjectRules& rules, const KnownName* known,
                             const json::Member& member) {
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

bool Evaluation::fits_name(const ObjectRules& rules, const json::Member& member) {
  if (fits(rules.name_schema, member.name)) return true;
  const std::string_view name = member.name.text();
  if (finds_words()) {
    refusal_ = {.message = fmt::format("the name {} is not allowed here: {}", quote(name),
                                       refusal_.message)};
  }
  return refuse_below(name);
}

bool Evaluation::refuse_unknown(const ObjectRules& rules, std::string_view name) {
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

bool Evaluation::has_required(const ObjectRules& rules, Value object, std::uint64_t seen) {
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

bool Evaluation::has_dependent(const ObjectRules& rules, Value object) {
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

}  // namespace treaty::schema
