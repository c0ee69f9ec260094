// Reading an input of any shape: what is not there, or not what it should be, is absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/json.h"

namespace treaty::assistant {

// A value that may be absent. Looking into something that is no object finds nothing.
class Part {
 public:
  Part() = default;
  explicit Part(std::optional<json::Value> value) : value_(value) {}

  Part operator[](std::string_view name) const;

  bool there() const { return value_.has_value(); }
  bool is_null() const { return value_ && value_->is_null(); }
  bool is_true() const { return value_ && value_->is_boolean() && value_->boolean(); }
  bool is_string() const { return value_ && value_->is_string(); }
  bool is(std::string_view text) const { return is_string() && value_->text() == text; }

  // As Python sees it: absent, null, false, 0 and everything empty are not.
  bool truthy() const;

  std::string_view text() const { return is_string() ? value_->text() : std::string_view(); }

  bool is_boolean() const { return value_ && value_->is_boolean(); }
  bool is_object() const { return value_ && value_->is_object(); }

  // As Python's float() reads it: numbers, texts that are one, true and false.
  std::optional<double> number() const;

  // As Python prints a scalar: null is None, true is True. Nothing for lists and objects.
  std::optional<std::string> printed() const;

 private:
  std::optional<json::Value> value_;
};

}  // namespace treaty::assistant
