// AgentResults as open values: what states, conditions and hooks of a machine see. Pure functions.
// An AgentResult here is an object whose absent members are left out, never null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/machine.h"

namespace treaty::machines {

// An object with a member of an AgentResult: those members. Another object: its `output`. A text,
// and what prints as one: its `content`.
Object coerce(const Dynamic& answer);

// What the state gives: `output`, else {"content"}, else {}.
Object payload_of(const Object& result);

// Its error; null when there is none.
const Object* error_of(const Object& result);
bool is_retryable(const Object& error);

// "type: message", for people and for context.last_error.
std::string sentence_of(const Object& error);

// Members of open values. One that is missing or of another kind is null, empty, false or 0.
Dynamic value_in(const Object& object, std::string_view member);
const Object* object_in(const Object& object, std::string_view member);
const List* list_in(const Object& object, std::string_view member);
std::string_view text_in(const Object& object, std::string_view member);
std::string text_of(const Object& object, std::string_view member);
bool flag_in(const Object& object, std::string_view member);
std::int64_t whole_in(const Object& object, std::string_view member);
double number_in(const Object& object, std::string_view member);
template <class T>
T or_empty(const T* value) {
  return value == nullptr ? T() : *value;
}

Object make_error(std::string_view code, std::string_view type, std::string_view message,
                  bool retryable = false);
Object failed_result(Object error);

// No output or {}, and blank content.
bool is_empty(const Object& result);

// Seconds that whoever refused asks to wait; 0 when nobody does.
double retry_after_of(const Object& result);

// Bytes of the answer, for limits on its length.
std::size_t length_of(const Object& result);

// What calls took.
struct Spent {
  std::int64_t api_calls = 0;
  double cost = 0;
};
Spent spent_by(const Object& result);

// `result` with usage and cost of all of them, itself included.
Object with_sums(Object result, const std::vector<Object>& all);

}  // namespace treaty::machines
