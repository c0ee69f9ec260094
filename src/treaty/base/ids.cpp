#include "treaty/base/ids.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>
#include <cstdlib>

namespace treaty {

std::string new_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  // Without randomness no identifier is safe to hand out, and nothing sensible can go on.
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) std::abort();
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    fmt::format_to(std::back_inserter(out), "{:02x}", bytes[i]);
  }
  return out;
}

}  // namespace treaty
