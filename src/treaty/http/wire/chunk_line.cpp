#include "treaty/http/wire/chunk_line.h"

#include <algorithm>

namespace treaty::http {

std::size_t chunk_line_size(std::string_view bytes, bool after_chunk) {
  if (bytes.size() < 2) return std::string_view::npos;
  if (after_chunk && !bytes.starts_with("\r\n")) return std::min<std::size_t>(bytes.size(), 4);
  const std::size_t begin = after_chunk ? 2 : 0;
  const std::size_t end = bytes.find('\n', begin);
  if (end == std::string_view::npos) return end;
  const std::string_view line = bytes.substr(begin, end - begin);
  const std::string_view size =
      line.substr(0, std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size()));
  const bool is_last = !size.empty() && size.find_first_not_of('0') == std::string_view::npos &&
                       line.ends_with('\r');
  if (!is_last) return end + 1;
  const std::size_t blank = bytes.find("\r\n\r\n", end - 1);
  return blank == std::string_view::npos ? blank : blank + 4;
}

}  // namespace treaty::http
