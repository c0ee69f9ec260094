#include "treaty/http/url.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::http {
namespace {

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::wrong_usage, std::move(message));
}

bool is_host_character(char c) { return is_alphanumeric(c) || c == '-' || c == '.' || c == '_'; }

bool is_host(std::string_view host, bool in_brackets) {
  if (host.empty() || host.size() > 253) return false;
  if (!in_brackets) return std::ranges::all_of(host, is_host_character);
  return host.contains(':') && std::ranges::all_of(host, [](char c) {
           return is_digit(c) || c == ':' || c == '.' || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
         });
}

bool is_visible(char c) { return c > ' ' && c < '\x7F'; }

// 0 when it is no port.
std::uint16_t port_of(std::string_view text) {
  return text.size() <= 5 ? parse_number<std::uint16_t>(text).value_or(0) : std::uint16_t{0};
}

std::expected<void, Error> read_authority(std::string_view text, Url& url) {
  const auto authority = parse_authority(text);
  if (!authority) return refuse("the address has no host that could be asked");
  auto [host, port] = *authority;
  if (host.size() < text.size()) url.port = port_of(port);
  if (url.port == 0) return refuse("the port of the address is not a number from 1 to 65535");
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  url.host = folded(host);
  return {};
}

}  // namespace

std::optional<Authority> parse_authority(std::string_view text) {
  const bool in_brackets = text.starts_with('[');
  const std::size_t bracket = in_brackets ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const std::size_t end = in_brackets ? bracket + 1 : std::min(text.find(':'), text.size());
  const std::string_view host = text.substr(0, end);
  std::string_view port = text.substr(end);
  if (!is_host(in_brackets ? host.substr(1, bracket - 1) : host, in_brackets)) return std::nullopt;
  if (port.empty()) return Authority{host, port};
  const bool has_colon = port.starts_with(':');
  port.remove_prefix(1);
  if (!has_colon || port.size() > 5 || !std::ranges::all_of(port, is_digit)) return std::nullopt;
  return Authority{host, port};
}

std::expected<Url, Error> parse_url(std::string_view text) {
  Url url;
  if (starts_with_folded(text, "https://")) {
    url.secure = true;
  } else if (!starts_with_folded(text, "http://")) {
    return refuse("the address does not begin with http:// or https://");
  }
  if (!std::ranges::all_of(text, is_visible)) {
    return refuse("the address holds a space, a control character or a letter beyond ASCII");
  }
  if (text.contains('#')) return refuse("the address has a fragment (#…); leave it out");
  url.port = url.secure ? 443 : 80;
  text.remove_prefix(url.secure ? 8 : 7);
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, end);
  if (authority.contains('@')) {
    return refuse("the address holds a user name or password; put the key in its own variable");
  }
  if (auto read = read_authority(authority, url); !read) return std::unexpected(read.error());
  url.target = text.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, 1, '/');
  return url;
}

}  // namespace treaty::http
