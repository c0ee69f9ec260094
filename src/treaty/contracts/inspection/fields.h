// The checks that fields of several contracts share. Each refuses under the rule it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/contracts/inspection/inspection.h"

namespace treaty::contracts {

// A member that must be there as a string that is not blank. `place` is null when it is not there,
// `name` then says what is missing in `object`. Answers the text, or "" when it was refused.
std::string required_text(Inspection& inspection, RuleId rule, const Place* place,
                          const Place& object, std::string_view name);

// A string that may be left out: nothing when `place` is null, and when it was refused.
std::optional<std::string> optional_text(Inspection& inspection, RuleId rule, const Place* place);

// Null where a contract counts JSON's null as absent.
const Place* unless_null(const Place* place);

// An integer of at least `least`. A number that is no int64 integer is JSON-05 at the field; every
// other mistake is `rule`'s.
std::optional<std::int64_t> integer_field(Inspection& inspection, RuleId rule, const Place& place,
                                          std::int64_t least = INT64_MIN);

// Refused unless it is of the type; `what` reads "a string", "an object".
bool is_string_field(Inspection& inspection, RuleId rule, const Place& place);
bool is_object_field(Inspection& inspection, RuleId rule, const Place& place);
bool is_array_field(Inspection& inspection, RuleId rule, const Place& place);
bool is_boolean_field(Inspection& inspection, RuleId rule, const Place& place);

// The last part of the way to a place, as messages call it: a name, or "entry 3".
std::string called(const Place& place);

}  // namespace treaty::contracts
