// Names on the wire: the documents write PascalCase, deployed clients camelCase, and both are read.
#pragma once

#include <string>
#include <string_view>

namespace treaty::contracts {

enum class Dialect { pascal, camel };

// `name`, which is given in PascalCase, as the dialect writes it.
std::string spelled(std::string_view name, Dialect dialect);

}  // namespace treaty::contracts
