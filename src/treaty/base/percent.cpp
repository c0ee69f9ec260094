#include "treaty/base/percent.h"

namespace treaty {

std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alphanumeric(c) || kept.contains(c)) {
      out.push_back(c);
    } else {
      out.append({'%', kDigits[byte >> 4U], kDigits[byte & 15U]});
    }
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    out.push_back(low < 0 ? text[i] : static_cast<char>(high * 16 + low));
    if (low >= 0) i += 2;
  }
  return out;
}

}  // namespace treaty
