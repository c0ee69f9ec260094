#include "treaty/http/wire/chunk_line.h"

#include <algorithm>

#include "treaty/http/wire/message_head.h"

namespace treaty::http {
namespace {

// More would not fit 64 bits with certainty.
constexpr std::size_t kMostDigits = 15;

std::size_t digits_in(std::string_view line) {
  return std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
}

}  // namespace

std::size_t chunk_line_size(std::string_view bytes, bool after_chunk) {
  if (bytes.size() < 2) return std::string_view::npos;
  if (after_chunk && !bytes.starts_with("\r\n")) return std::min<std::size_t>(bytes.size(), 4);
  const std::size_t begin = after_chunk ? 2 : 0;
  const std::size_t end = bytes.find('\n', begin);
  if (end == std::string_view::npos) return end;
  const std::string_view line = bytes.substr(begin, end - begin);
  const std::string_view size = line.substr(0, digits_in(line));
  const bool is_last = !size.empty() && size.find_first_not_of('0') == std::string_view::npos &&
                       line.ends_with('\r');
  if (!is_last) return end + 1;
  const std::size_t blank = bytes.find("\r\n\r\n", end - 1);
  // A trailer that is wrong already may never end.
  if (blank == std::string_view::npos && has_bare_line_feed(bytes, end + 1)) return bytes.size();
  return blank == std::string_view::npos ? blank : blank + 4;
}

std::string_view find_chunk_fault(std::string_view bytes, bool after_chunk) {
  if (after_chunk && !bytes.starts_with("\r\n")) return "a chunk does not end where its size says";
  const std::string_view lines = bytes.substr(after_chunk ? 2 : 0);
  const std::size_t end = lines.find("\r\n");
  if (end == std::string_view::npos) return "the line of a chunk ends without its carriage return";
  const std::string_view line = lines.substr(0, end);
  const std::size_t digits = digits_in(line);
  if (digits == 0 || digits > kMostDigits) return "the size of a chunk is not a number";
  const std::string_view extension = line.substr(digits);
  if (!extension.empty() && !(extension[0] == ';' && is_field_value(extension))) {
    return "something other than an extension follows the size of a chunk";
  }
  const std::string_view trailer = lines.substr(end + 2);
  return trailer.empty() ? "" : find_trailer_fault(trailer);
}

}  // namespace treaty::http
