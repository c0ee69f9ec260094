// Fuzzes ContentHash: stable across line ends, and equal to a second implementation that goes by
// way of UTF-16, as decision D7 is written.
#include <algorithm>
#include <string>

#include "require.h"
#include "treaty/base/hash.h"
#include "treaty/base/text.h"
#include "treaty/contracts/text/content_hash.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

constexpr std::size_t kLongestLine = 500;  // In UTF-16 units.

// Every line end, whichever of \r\n, \r and \n it is, becomes `line_end`.
std::string with_line_ends(std::string_view text, std::string_view line_end) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (text[i] == '\r' || text[i] == '\n') {
      out += line_end;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::u16string to_utf16(std::string_view utf8) {
  std::u16string out;
  while (!utf8.empty()) {
    const CodePoint next = read_code_point(utf8);
    utf8.remove_prefix(next.length);
    if (next.value > 0xFFFF) {
      out.push_back(static_cast<char16_t>(0xD800 + ((next.value - 0x10000) >> 10U)));
      out.push_back(static_cast<char16_t>(0xDC00 + ((next.value - 0x10000) & 0x3FFU)));
    } else {
      out.push_back(static_cast<char16_t>(next.value));
    }
  }
  return out;
}

// Half of a pair becomes U+FFFD.
std::string to_utf8(std::u16string_view utf16) {
  std::string out;
  for (std::size_t i = 0; i < utf16.size(); ++i) {
    const char32_t unit = utf16[i];
    const bool pair = unit >= 0xD800 && unit <= 0xDBFF && i + 1 < utf16.size();
    append_utf8(out, pair ? 0x10000 + ((unit - 0xD800) << 10U) + (utf16[++i] - 0xDC00U) : unit);
  }
  return out;
}

std::string reference_hash(std::string_view text) {
  const std::string lines = with_line_ends(text, "\n");
  std::string hashed;
  for (std::size_t begin = 0; begin <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::u16string line = to_utf16(lines.substr(begin, end - begin));
    hashed += to_utf8(std::u16string_view(line).substr(0, kLongestLine)) + "\n";
    begin = end + 1;
  }
  Sha256 digest;
  digest.add(hashed);
  return digest.hex();
}

std::string hash_of_bytes(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::as_text(data, size);
  const std::string hash = contracts::content_hash(bytes);
  require(hash.size() == 64);
  require(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  if (!is_utf8(bytes)) {
    require(hash == hash_of_bytes(bytes));
    return 0;
  }
  require(hash == reference_hash(bytes));
  for (const std::string_view line_end : {"\n", "\r\n", "\r"}) {
    require(contracts::content_hash(with_line_ends(bytes, line_end)) == hash);
  }
  return 0;
}
