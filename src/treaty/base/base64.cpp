#include "treaty/base/base64.h"

#include <array>
#include <cstdint>

namespace treaty {
namespace {

constexpr std::uint8_t kStray = 0xFF;
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::uint8_t, 256> kSextets = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(kStray);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

std::uint8_t sextet(char c) { return kSextets[static_cast<unsigned char>(c)]; }

std::size_t padding_of(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with("=") ? 1 : 0;
}

}  // namespace

std::optional<std::size_t> base64_decoded_size(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = padding_of(text);
  std::uint8_t seen = 0;  // Stray characters have the high bits set; one test at the end suffices.
  for (const char c : text.substr(0, text.size() - padding)) seen |= sextet(c);
  if ((seen & 0xC0U) != 0) return std::nullopt;
  return text.size() / 4 * 3 - padding;
}

std::optional<std::string> base64_decode(std::string_view text) {
  const auto size = base64_decoded_size(text);
  if (!size) return std::nullopt;
  std::string out;
  out.reserve(*size + 2);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      group = (group << 6U) | (c == '=' ? 0U : sextet(c));
    }
    out.push_back(static_cast<char>(group >> 16U));
    out.push_back(static_cast<char>(group >> 8U));
    out.push_back(static_cast<char>(group));
  }
  out.resize(*size);
  return out;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view some = bytes.substr(i, 3);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8U) | (k < some.size() ? static_cast<unsigned char>(some[k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out.push_back(k > some.size() ? '=' : kAlphabet[(group >> (18U - 6U * k)) & 0x3FU]);
    }
  }
  return out;
}

}  // namespace treaty
