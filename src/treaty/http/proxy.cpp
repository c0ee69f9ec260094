#include "treaty/http/proxy.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <cstdlib>

#include "treaty/base/base64.h"
#include "treaty/base/percent.h"
#include "treaty/base/text.h"

namespace treaty::http {
namespace {

namespace ip = boost::asio::ip;

std::string variable(const char* lower, const char* upper) {
  for (const char* name : {lower, upper}) {
    const char* value = name == nullptr ? nullptr : std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

// The address in 10.0.0.0/8 or fd00::/8.
bool is_in_network(std::string_view network, const ip::address& address) {
  boost::system::error_code error;
  if (address.is_v4()) {
    const auto range = ip::make_network_v4(network, error);
    if (error) return false;
    const unsigned mask = range.netmask().to_uint();
    return (address.to_v4().to_uint() & mask) == (range.address().to_uint() & mask);
  }
  const auto range = ip::make_network_v6(network, error);
  return !error && ip::make_network_v6(address.to_v6(), range.prefix_length()).canonical() ==
                       range.canonical();
}

// One entry of NO_PROXY: *, host, .suffix, host:port, address, network.
bool covers(std::string_view entry, const Url& url) {
  if (entry == "*") return true;
  boost::system::error_code error;
  const auto address = ip::make_address(url.host, error);
  if (!error && entry.contains('/')) return is_in_network(entry, address);
  const std::string with_port = fmt::format(":{}", url.port);
  if (entry.ends_with(with_port) && !(entry.contains("::") && !entry.starts_with('['))) {
    entry.remove_suffix(with_port.size());
  }
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  if (!error) return equal_folded(entry, url.host);
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty() || entry.size() > url.host.size()) return false;
  const std::size_t before = url.host.size() - entry.size();
  return equal_folded(std::string_view(url.host).substr(before), entry) &&
         (before == 0 || url.host[before - 1] == '.');
}

bool is_excepted(std::string_view list, const Url& url) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    const std::string_view entry = trimmed(list.substr(0, end));
    if (!entry.empty() && covers(entry, url)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

ProxyVariables ProxyVariables::from_environment() {
  return {.https_proxy = variable("https_proxy", "HTTPS_PROXY"),
          .http_proxy = variable("http_proxy", nullptr),
          .no_proxy = variable("no_proxy", "NO_PROXY")};
}

std::expected<std::optional<Proxy>, Error> proxy_for(const Url& url,
                                                     const ProxyVariables& variables) {
  std::string_view text = url.secure ? variables.https_proxy : variables.http_proxy;
  if (text.empty() || is_excepted(variables.no_proxy, url)) return std::nullopt;
  const auto bad = fail(ErrorCode::wrong_usage,
                        fmt::format("{} is not the address of a proxy: write http://HOST:PORT",
                                    url.secure ? "HTTPS_PROXY" : "http_proxy"));
  if (starts_with_folded(text, "http://")) text.remove_prefix(7);
  if (text.contains("://")) return bad;
  Proxy proxy;
  const std::size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    proxy.authorization = "Basic " + base64_encode(percent_decoded(text.substr(0, at)));
    text.remove_prefix(at + 1);
  }
  const auto address = parse_url(fmt::format("http://{}", text));
  if (!address) return bad;
  proxy.host = address->host;
  proxy.port = address->port;
  return proxy;
}

}  // namespace treaty::http
