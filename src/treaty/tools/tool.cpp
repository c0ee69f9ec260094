#include "treaty/tools/tool.h"

#include <fmt/format.h>

#include <algorithm>

namespace treaty::tools {

bool declares(const std::vector<ToolDeclaration>& tools, std::string_view name) {
  return std::ranges::find(tools, name, &ToolDeclaration::name) != tools.end();
}

ToolOutcome failed_outcome(std::string why) {
  return {.content = std::move(why), .is_error = true};
}

ToolOutcome no_provider_for(std::string_view tool) {
  return failed_outcome(fmt::format("No tool provider configured for '{}'", tool));
}

}  // namespace treaty::tools
