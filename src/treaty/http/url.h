// Addresses of HTTP servers: http://host:port/path and https://host:port/path.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "treaty/base/error.h"

namespace treaty::http {

struct Url {
  bool secure = false;     // https.
  std::string host{};      // An IPv6 address without its brackets.
  std::uint16_t port = 0;  // The scheme's own when the text names none.
  std::string target{};    // Path and query; begins with '/'.
  bool operator==(const Url&) const = default;
};

// Refuses other schemes, user names, fragments, control characters and ports out of range.
std::expected<Url, Error> parse_url(std::string_view text);

}  // namespace treaty::http
