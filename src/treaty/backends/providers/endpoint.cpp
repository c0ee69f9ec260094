#include "treaty/backends/providers/endpoint.h"

#include <fmt/format.h>

#include <cstdlib>

#include "treaty/backends/protocols/request_parts.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

// Without a trailing slash; the query apart.
struct SplitUrl {
  std::string_view path;
  std::string_view query;
};

SplitUrl split(std::string_view url) {
  const std::size_t mark = url.find('?');
  std::string_view path = url.substr(0, mark);
  while (path.ends_with('/')) path.remove_suffix(1);
  return {path, mark == std::string_view::npos ? "" : url.substr(mark + 1)};
}

// From the first slash after the host; empty when there is none.
std::string_view path_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t slash = url.find('/', host);
  return slash == std::string_view::npos ? std::string_view() : url.substr(slash);
}

std::string completed(const Provider& provider, std::string_view given) {
  const SplitUrl parts = split(trimmed(given));
  std::string url(parts.path);
  if (provider.complete_base_url != nullptr) {
    url = provider.complete_base_url(parts.path);
  } else if (path_of(parts.path).empty()) {
    url += path_of(provider.base_url);
  }
  if (!parts.query.empty()) url += fmt::format("?{}", parts.query);
  return url;
}

}  // namespace

std::optional<std::string> process_environment(std::string_view variable) {
  const char* value = std::getenv(std::string(variable).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string base_url_of(const Provider& provider, std::string_view given,
                        const Environment& environment) {
  if (!trimmed(given).empty()) return completed(provider, given);
  for (const std::string_view variable : provider.base_url_variables) {
    const std::string value = environment(variable).value_or("");
    if (!trimmed(value).empty()) return completed(provider, value);
  }
  return std::string(provider.base_url);
}

std::string key_of(const Provider& provider, const Environment& environment) {
  for (const std::string_view variable : provider.key.environment_variables) {
    const std::string value = environment(variable).value_or("");
    if (!trimmed(value).empty()) return std::string(trimmed(value));
  }
  return {};
}

std::expected<http::Url, Error> address_of(const Provider& provider, std::string_view base_url,
                                           const Protocol& protocol, const Call& call) {
  const SplitUrl base = split(base_url);
  const std::string whole = provider.url_of != nullptr
                                ? provider.url_of(base.path, call, protocol)
                                : fmt::format("{}{}", base.path, protocol.path(call));
  const SplitUrl parts = split(whole);
  std::string url(parts.path);
  for (const std::string_view query : {parts.query, base.query}) {
    if (query.empty()) continue;
    url.push_back(url.find('?') == std::string::npos ? '?' : '&');
    url += query;
  }
  return http::parse_url(url);
}

Headers headers_of(const Provider& provider, const Protocol& protocol, std::string_view key,
                   const Call& call) {
  const bool events = call.stream && protocol.framing == Framing::event_stream;
  Headers headers = {{"content-type", "application/json"},
                     {"accept", events ? "text/event-stream" : "application/json"},
                     {"user-agent", "treaty/" TREATY_VERSION}};
  if (&protocol == &anthropic_messages()) headers.set("anthropic-version", "2023-06-01");
  if (&protocol == &anthropic_messages() && sends_bound_thoughts(call, provider.style)) {
    headers.set("anthropic-beta", "thinking-binding-controls-2026-08-01");
  }
  if (!provider.conversation_header.empty() && &protocol == &chat_completions()) {
    const std::string conversation = prompt_cache_key(call);
    if (!conversation.empty()) headers.set(provider.conversation_header, conversation);
  }
  if (key.empty()) return headers;
  const std::string_view name =
      provider.key.header.empty() ? protocol.key_header : provider.key.header;
  headers.set(name, fmt::format("{}{}", name == "authorization" ? "Bearer " : "", key));
  return headers;
}

}  // namespace treaty::backends
