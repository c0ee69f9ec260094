#include "treaty/contracts/inspection/fields.h"

#include <fmt/format.h>

#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

bool refuse_type(Inspection& inspection, RuleId rule, const Place& place, std::string_view wanted) {
  inspection.refuse(
      rule, place,
      fmt::format("{} is {}, not {}", called(place), a_kind_of(place.value.type()), wanted));
  return false;
}

}  // namespace

std::string called(const Place& place) {
  if (place.parent == nullptr) return "the document";
  if (place.parent->value.is_object()) return std::string(place.name);
  return fmt::format("entry {}", place.index);
}

bool is_string_field(Inspection& inspection, RuleId rule, const Place& place) {
  return place.value.is_string() || refuse_type(inspection, rule, place, "a string");
}

bool is_object_field(Inspection& inspection, RuleId rule, const Place& place) {
  return place.value.is_object() || refuse_type(inspection, rule, place, "an object");
}

bool is_array_field(Inspection& inspection, RuleId rule, const Place& place) {
  return place.value.is_array() || refuse_type(inspection, rule, place, "an array");
}

bool is_boolean_field(Inspection& inspection, RuleId rule, const Place& place) {
  return place.value.is_boolean() || refuse_type(inspection, rule, place, "a boolean");
}

std::string required_text(Inspection& inspection, RuleId rule, const Place* place,
                          const Place& object, std::string_view name) {
  if (place == nullptr) {
    inspection.refuse_missing(rule, object, name);
    return {};
  }
  if (!is_string_field(inspection, rule, *place)) return {};
  const std::string_view text = place->value.text();
  if (is_blank(text)) {
    inspection.refuse(rule, *place, fmt::format("{} is blank", called(*place)));
    return {};
  }
  return std::string(text);
}

std::optional<std::string> optional_text(Inspection& inspection, RuleId rule, const Place* place) {
  if (place == nullptr || !is_string_field(inspection, rule, *place)) return std::nullopt;
  return std::string(place->value.text());
}

const Place* unless_null(const Place* place) {
  return place == nullptr || place->value.is_null() ? nullptr : place;
}

std::optional<std::int64_t> integer_field(Inspection& inspection, RuleId rule, const Place& place,
                                          std::int64_t least) {
  if (!place.value.is_number()) {
    refuse_type(inspection, rule, place, "an integer");
    return std::nullopt;
  }
  const auto integer = place.value.integer();
  if (!integer) {
    inspection.refuse("JSON-05", place,
                      fmt::format("{} takes an integer inside int64, without fraction or exponent",
                                  called(place)));
    return std::nullopt;
  }
  if (*integer < least) {
    inspection.refuse(
        rule, place,
        fmt::format("{} is {}; the least it can be is {}", called(place), *integer, least));
    return std::nullopt;
  }
  return integer;
}

}  // namespace treaty::contracts
