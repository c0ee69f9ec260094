#include "treaty/api/access.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "treaty/base/hash.h"
#include "treaty/base/text.h"
#include "treaty/http/url.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

constexpr std::string_view kBearer = "bearer ";

std::string_view key_in(const Headers& headers) {
  const std::string_view authorization = headers.get("authorization");
  if (starts_with_folded(authorization, kBearer)) {
    return trimmed(authorization.substr(kBearer.size()));
  }
  return trimmed(headers.get("x-api-key"));
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

// Four numbers of at most three digits, the first of them 127.
bool is_loopback_ipv4(std::string_view host) {
  if (!host.starts_with("127.")) return false;
  int dots = 0;
  std::size_t digits = 0;
  for (const char c : host) {
    if (c == '.') {
      if (digits == 0) return false;
      ++dots;
      digits = 0;
    } else if (!is_digit(c) || ++digits > 3) {
      return false;
    }
  }
  return dots == 3 && digits > 0;
}

// Guards against DNS rebinding. An attacker can own a name with dots and point it to this machine;
// the browsers of their visitors would then call this server. Nobody can own plain names and
// addresses.
bool could_be_public(std::string_view host) {
  if (host.empty() || is_loopback_host(host)) return false;
  const auto authority = http::parse_authority(host);
  if (!authority) return true;
  const std::string_view name = authority->host;
  return !name.starts_with('[') && name.contains('.') &&
         name.find_first_not_of("0123456789.") != std::string_view::npos;
}

}  // namespace

std::expected<std::string, Refusal> tenant_of(const Headers& headers,
                                              std::span<const ApiKey> keys) {
  if (keys.empty()) return std::string(kLocalTenant);
  const std::string_view key = key_in(headers);
  if (key.empty()) {
    return std::unexpected(
        Refusal{Reason::unauthenticated,
                "this server needs a key; send it as `Authorization: Bearer KEY`"});
  }
  const std::string sha256 = sha256_hex(key);
  const ApiKey* found = nullptr;
  for (const ApiKey& known : keys) {
    if (equal_in_constant_time(known.sha256, sha256)) found = &known;
  }
  if (found == nullptr) {
    return std::unexpected(Refusal{
        Reason::unauthenticated,
        "the key is not known; ask the operator, who lists the SHA-256 of each key under `keys`"});
  }
  return found->tenant;
}

bool is_loopback_host(std::string_view host) {
  const auto authority = http::parse_authority(host);
  if (!authority) return false;
  std::string name = folded(authority->host);
  if (name.ends_with('.')) name.pop_back();
  return name == "localhost" || name.ends_with(".localhost") || name == "[::1]" ||
         is_loopback_ipv4(name);
}

std::expected<void, Refusal> refuse_web_pages(const Headers& headers) {
  if (const std::string* host = headers.find("host"); host != nullptr && could_be_public(*host)) {
    return std::unexpected(
        Refusal{Reason::forbidden,
                "without keys this server does not answer to names that a web site could have; "
                "call it 127.0.0.1 or localhost, or configure `keys`",
                "Host"});
  }
  const std::string* origin = headers.find("origin");
  if (origin == nullptr || origin->empty()) return {};
  const std::size_t scheme = origin->find("://");
  if (scheme != std::string::npos &&
      is_loopback_host(std::string_view(*origin).substr(scheme + 3))) {
    return {};
  }
  return std::unexpected(Refusal{Reason::forbidden,
                                 "without keys this server does not answer to web pages of other "
                                 "sites; configure `keys`",
                                 "Origin"});
}

}  // namespace treaty::api
