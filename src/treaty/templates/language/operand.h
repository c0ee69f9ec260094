// What an expression comes to while it is evaluated: a value that stays where it is, one of its
// own, or nothing that is defined.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "treaty/templates/value.h"

namespace treaty::templates::language {

class Operand {
 public:
  Operand(Value&& own) : own_(std::move(own)) {}
  static Operand borrowed(const Value& value) { return Operand(&value); }

  // `name`: of what is not there, for messages; it outlives the operand.
  static Operand undefined(std::string_view name) {
    Operand operand(nullptr);
    operand.is_undefined_ = true;
    operand.name_ = name;
    return operand;
  }

  bool is_undefined() const { return is_undefined_; }
  std::string_view undefined_name() const { return name_; }
  bool is_own() const { return at_ == nullptr && !is_undefined_; }

  // Null for what is undefined.
  const Value& value() const { return at_ != nullptr ? *at_ : own_; }
  const Value& operator*() const { return value(); }
  const Value* operator->() const { return &value(); }

  // A copy only of what is borrowed.
  Value take() && { return at_ != nullptr ? Value(*at_) : std::move(own_); }

  bool is_true() const { return templates::is_true(value()); }

 private:
  explicit Operand(const Value* at) : at_(at) {}

  const Value* at_ = nullptr;  // None: it is own_.
  Value own_;
  bool is_undefined_ = false;
  std::string_view name_;
};

// The error is for people.
using Result = std::expected<Operand, std::string>;

}  // namespace treaty::templates::language
