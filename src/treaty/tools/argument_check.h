// Checks the arguments of a tool call. Models are not trusted: what they write is refused with a
// sentence from which the model can learn. Pure.
//
//   json::Document arguments;
//   if (auto refusal = refusal_of_arguments(call.arguments, schema.get(), arguments)) {
//     return ToolOutcome{.content = *refusal, .is_error = true};
//   }
//   run(call, *arguments.root());
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/json.h"
#include "treaty/base/schema/schema.h"

namespace treaty::tools {

constexpr std::size_t kMostArgumentBytes = std::size_t{1} << 20U;  // Of one call.

// Why the arguments cannot be used: too long, not JSON, not an object, or against the schema (null:
// any object). Nothing: they can, and `document` holds them.
std::optional<std::string> refusal_of_arguments(std::string_view arguments,
                                                const schema::Schema* parameters,
                                                json::Document& document);

}  // namespace treaty::tools
