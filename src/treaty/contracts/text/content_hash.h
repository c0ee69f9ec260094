// ContentHash as IDX-016 computes it: stable across line ends and very long lines.
#pragma once

#include <string>
#include <string_view>

namespace treaty::contracts {

// 64 lower-case hex digits. Bytes that are UTF-8 are text; all others are hashed as they are.
std::string content_hash(std::string_view bytes);

}  // namespace treaty::contracts
