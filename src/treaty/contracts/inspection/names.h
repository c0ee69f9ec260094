// Names on the wire: the documents write PascalCase, deployed clients camelCase, and both are read.
#pragma once

#include <string>
#include <string_view>

#include "treaty/base/text.h"

namespace treaty::contracts {

enum class Dialect { pascal, camel };

// `name`, which is given in PascalCase, as the dialect writes it.
inline std::string spelled(std::string_view name, Dialect dialect) {
  std::string out(name);
  if (dialect == Dialect::camel && !out.empty()) out[0] = to_lower(out[0]);
  return out;
}

}  // namespace treaty::contracts
