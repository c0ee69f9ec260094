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
  Operand(Dynamic&& own) : own_(std::move(own)) {}
  static Operand borrowed(const Dynamic& value) { return Operand(&value, {}); }

  // `name`: of what is not there, for messages; it outlives the operand.
  static Operand undefined(std::string_view name) { return Operand(nullptr, name); }

  bool is_undefined() const { return at_ == nullptr && !own_; }
  std::string_view undefined_name() const { return name_; }
  bool is_own() const { return own_.has_value(); }

  // Null for what is undefined.
  const Dynamic& value() const {
    if (at_ != nullptr) return *at_;
    return own_ ? *own_ : null();
  }
  const Dynamic& operator*() const { return value(); }
  const Dynamic* operator->() const { return &value(); }

  // A copy only of what is borrowed.
  Dynamic take() && { return own_ ? *std::move(own_) : value(); }

  bool is_true() const { return templates::is_true(value()); }

 private:
  Operand(const Dynamic* at, std::string_view name) : at_(at), name_(name) {}

  static const Dynamic& null() {
    static const Dynamic value;
    return value;
  }

  // Most operands are borrowed: to move them is cheaper than to move a Dynamic.
  const Dynamic* at_ = nullptr;
  std::optional<Dynamic> own_;
  std::string_view name_;
};

// The error is for people.
using Result = std::expected<Operand, std::string>;

}  // namespace treaty::templates::language
