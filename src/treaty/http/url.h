// Addresses of HTTP servers: http://host:port/path and https://host:port/path.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
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

// Host and port as a URL or a Host header writes them: "host", "host:8088", "[::1]", "[::1]:8088".
struct Authority {
  std::string_view host{};  // An IPv6 address with its brackets.
  std::string_view port{};  // Digits; empty when none is named.
};

// Nothing when it is not made that way.
std::optional<Authority> parse_authority(std::string_view text);

// Refuses other schemes, user names, fragments, control characters and ports out of range.
std::expected<Url, Error> parse_url(std::string_view text);

}  // namespace treaty::http
