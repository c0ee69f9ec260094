#include "treaty/contracts/inspection/names.h"

#include "treaty/base/text.h"

namespace treaty::contracts {

std::string spelled(std::string_view name, Dialect dialect) {
  std::string out(name);
  if (dialect == Dialect::camel && !out.empty()) out[0] = to_lower(out[0]);
  return out;
}

}  // namespace treaty::contracts
