#include "treaty/tools/argument_check.h"

#include <fmt/format.h>

namespace treaty::tools {

std::optional<std::string> refusal_of_arguments(std::string_view arguments,
                                                const schema::Schema* parameters,
                                                json::Document& document) {
  if (arguments.size() > kMostArgumentBytes) {
    return fmt::format("The arguments have {} bytes; at most {} are allowed.", arguments.size(),
                       kMostArgumentBytes);
  }
  document.read(arguments, {.max_size = kMostArgumentBytes, .max_faults = 1});
  if (const auto& faults = document.faults(); !faults.empty() || !document.root()) {
    return fmt::format("The arguments are not valid JSON: {}.",
                       faults.empty() ? "there are none" : faults[0].message);
  }
  if (!document.root()->is_object()) return "The arguments are not a JSON object.";
  if (parameters == nullptr) return std::nullopt;
  const auto mismatch = parameters->mismatch(*document.root());
  if (!mismatch) return std::nullopt;
  return fmt::format("The arguments do not fit the tool's parameters, at {}: {}.",
                     mismatch->where.empty() ? "the top" : mismatch->where, mismatch->message);
}

}  // namespace treaty::tools
