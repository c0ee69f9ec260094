// Which proxy stands between us and a server, as HTTPS_PROXY, http_proxy and NO_PROXY say.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/http/url.h"

namespace treaty::http {

// The variables as they stand in the environment; empty is not set.
struct ProxyVariables {
  std::string https_proxy{};
  std::string http_proxy{};
  std::string no_proxy{};

  // Lower case wins. HTTP_PROXY is not read: a CGI server sets it from a request's Proxy header.
  static ProxyVariables from_environment();
};

struct Proxy {
  std::string host{};
  std::uint16_t port = 0;
  std::string authorization{};  // The value of Proxy-Authorization; empty without credentials.
  bool operator==(const Proxy&) const = default;
};

// Nothing when `url` is reached directly. An error when the variable makes no sense.
std::expected<std::optional<Proxy>, Error> proxy_for(const Url& url,
                                                     const ProxyVariables& variables);

}  // namespace treaty::http
