#include "treaty/contracts/text/content_hash.h"

#include "treaty/base/hash.h"
#include "treaty/base/text.h"

namespace treaty::contracts {
namespace {

constexpr std::size_t kLongestLine = 500;  // In UTF-16 units.

// The first 500 UTF-16 units of a line. A pair that the cut would split becomes U+FFFD, which is
// what a UTF-16 program gets for the half that is left.
std::string cut(std::string_view line) {
  std::size_t units = 0;
  std::size_t at = 0;
  while (at < line.size()) {
    const CodePoint next = read_code_point(line.substr(at));
    const std::size_t width = next.value > 0xFFFF ? 2 : 1;
    if (units + width > kLongestLine) {
      std::string out(line.substr(0, at));
      if (units < kLongestLine) append_utf8(out, 0xFFFD);
      return out;
    }
    units += width;
    at += next.length;
  }
  return std::string(line);
}

}  // namespace

std::string content_hash(std::string_view bytes) {
  if (!is_utf8(bytes)) return sha256_hex(bytes);
  Sha256 digest;
  for (std::size_t at = 0; at <= bytes.size();) {
    const Line line = line_at(bytes, at);
    // A line of at most 500 bytes has at most 500 units.
    digest.add(line.text.size() <= kLongestLine ? line.text : std::string_view(cut(line.text)));
    digest.add("\n");
    at = line.next;
  }
  return digest.hex();
}

}  // namespace treaty::contracts
