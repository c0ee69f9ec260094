// What names mean while a condition or a template is evaluated. The values stay with the caller.
#pragma once

#include <span>
#include <string_view>

#include "treaty/templates/value.h"

namespace treaty::templates {

struct Binding {
  std::string_view name;
  const Dynamic* value;
};

struct Scope {
  const Dynamic* context = nullptr;  // Null pointers stand for null.
  const Dynamic* input = nullptr;
  const Dynamic* output = nullptr;
  const Dynamic* result = nullptr;
  bool context_over_input = false;   // `input.k` is `context.k` where the context has that key.
  std::span<const Binding> bound{};  // More names: of foreach.
};

}  // namespace treaty::templates
