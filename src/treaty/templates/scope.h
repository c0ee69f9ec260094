// What names mean while a condition or a template is evaluated. The values stay with the caller.
#pragma once

#include <span>
#include <string_view>

#include "treaty/templates/value.h"

namespace treaty::templates {

struct Binding {
  std::string_view name;
  const Value* value;
};

struct Scope {
  const Value* context = nullptr;  // Null pointers stand for null.
  const Value* input = nullptr;
  const Value* output = nullptr;
  const Value* result = nullptr;
  bool context_over_input = false;   // `input.k` is `context.k` where the context has that key.
  std::span<const Binding> bound{};  // More names: of foreach.
};

}  // namespace treaty::templates
