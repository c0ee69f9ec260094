#include "treaty/base/ids.h"

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace treaty {

std::string new_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  // Without randomness no identifier is safe to hand out, and nothing sensible can go on.
  if (getrandom(bytes.data(), bytes.size(), 0) != std::ssize(bytes)) std::abort();
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(36);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out.push_back('-');
    out.push_back(kDigits[bytes[i] >> 4U]);
    out.push_back(kDigits[bytes[i] & 0x0FU]);
  }
  return out;
}

}  // namespace treaty
