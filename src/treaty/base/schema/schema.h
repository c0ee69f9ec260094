// JSON Schema for the parameters of tools: compiled once, refused when it uses what is not
// supported, then asked about values.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/base/json.h"

namespace treaty::schema {

// Immutable; may be shared between threads.
class Schema {
 public:
  // The error's `where` is the JSON pointer of what is wrong or not supported.
  static std::expected<Schema, Error> compile(std::string_view json);

  struct Mismatch {
    std::string where{};  // JSON pointer into the value.
    std::string message;  // For the model: what is expected there.
  };

  // The first place where `value` does not fit; nothing when it does.
  std::optional<Mismatch> mismatch(json::Value value) const;

  // The same for a text; one that is no JSON does not fit.
  std::optional<Mismatch> mismatch_of_text(std::string_view json) const;

 private:
  struct Program;
  explicit Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

}  // namespace treaty::schema
