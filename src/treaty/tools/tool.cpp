#include "treaty/tools/tool.h"

#include <fmt/format.h>

#include <algorithm>

namespace treaty::tools {

bool declares(const std::vector<ToolDeclaration>& tools, std::string_view name) {
  return std::ranges::find(tools, name, &ToolDeclaration::name) != tools.end();
}

ToolOutcome no_provider_for(std::string_view tool) {
  return {.content = fmt::format("No tool provider configured for '{}'", tool), .is_error = true};
}

}  // namespace treaty::tools
