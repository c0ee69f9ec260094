// What an expression comes to while it is evaluated: a value that stays where it is, one of its
// own, or nothing that is defined.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "treaty/templates/value.h"

namespace treaty::templates::language {

class Operand {
 public:
  Operand(Value&& own) : own_(std::move(own)) {}
  static Operand borrowed(const Value& value) { return Operand(&value, {}); }

  // `name`: of what is not there, for messages; it outlives the operand.
  static Operand undefined(std::string_view name) { return Operand(nullptr, name); }

  bool is_undefined() const { return at_ == nullptr && !own_; }
  std::string_view undefined_name() const { return name_; }
  bool is_own() const { return own_.has_value(); }

  // Null for what is undefined.
  const Value& value() const {
    if (at_ != nullptr) return *at_;
    return own_ ? *own_ : null();
  }
  const Value& operator*() const { return value(); }
  const Value* operator->() const { return &value(); }

  // A copy only of what is borrowed.
  Value take() && { return own_ ? *std::move(own_) : value(); }

  bool is_true() const { return templates::is_true(value()); }

 private:
  Operand(const Value* at, std::string_view name) : at_(at), name_(name) {}

  static const Value& null() {
    static const Value value;
    return value;
  }

  // Most operands are borrowed: to move them costs nothing of what a Value costs.
  const Value* at_ = nullptr;
  std::optional<Value> own_;
  std::string_view name_;
};

// The error is for people.
using Result = std::expected<Operand, std::string>;

}  // namespace treaty::templates::language
