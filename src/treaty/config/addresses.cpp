#include "treaty/config/addresses.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListenHint = "such as 127.0.0.1:8088 or [::1]:8088";

std::unexpected<Diagnostic> address_fault(std::string message, std::string_view hint) {
  return std::unexpected(Diagnostic{.message = std::move(message), .hint = std::string(hint)});
}

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

std::string address_of_file(const fs::path& path) {
  return fmt::format("sqlite://{}", path.lexically_normal().string());
}

}  // namespace

std::expected<Listen, Diagnostic> parse_listen(std::string_view text) {
  const std::string_view trimmed_text = trimmed(text);
  const std::size_t colon = trimmed_text.rfind(':');
  if (colon == std::string_view::npos || trimmed_text.ends_with(']')) {
    return address_fault("the address to listen on lacks its port", kListenHint);
  }
  const auto port = parse_number<std::uint16_t>(trimmed_text.substr(colon + 1));
  if (!port)
    return address_fault("the port to listen on is not a number from 0 to 65535", kListenHint);
  std::string host(trimmed_text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (is_address(AF_INET6, host)) return Listen{std::move(host), *port};
  } else if (is_address(AF_INET, host)) {
    return Listen{std::move(host), *port};
  } else if (is_address(AF_INET6, host)) {
    return address_fault("an IPv6 address to listen on stands in brackets", kListenHint);
  }
  return address_fault("the address to listen on is not an IP address", kListenHint);
}

std::string text_of(const Listen& listen) {
  const bool is_v6 = listen.address.contains(':');
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", listen.address, is_v6 ? "]" : "", listen.port);
}

bool is_loopback(const Listen& listen) {
  in_addr v4{};
  if (inet_pton(AF_INET, listen.address.c_str(), &v4) == 1) {
    return (ntohl(v4.s_addr) >> 24U) == 127;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, listen.address.c_str(), &v6) != 1) return false;
  const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6) != 0;
  return IN6_IS_ADDR_LOOPBACK(&v6) != 0 || (is_mapped && v6.s6_addr[12] == 127);
}

std::optional<Diagnostic> find_open_door(const Listen& listen, bool has_keys) {
  if (has_keys || is_loopback(listen)) return std::nullopt;
  return Diagnostic{
      .message = "an address that others can reach needs keys, and there are none",
      .hint =
          "add `keys` to treaty.yaml, or listen on 127.0.0.1; docs/reference/config.md shows how"};
}

std::expected<std::string, Diagnostic> default_store(const Sources& sources) {
  const fs::path here = sources.directory;
  if (sources.flags.state_dir) {
    if (is_blank(*sources.flags.state_dir)) {
      return address_fault("the state directory is blank", "give --state-dir DIR");
    }
    return address_of_file(here / *sources.flags.state_dir / "treaty.db");
  }
  // The XDG Base Directory Specification: a relative path there is to be ignored.
  const fs::path state = sources.environment("XDG_STATE_HOME").value_or("");
  if (state.is_absolute()) return address_of_file(state / "treaty" / "treaty.db");
  const std::string home = sources.environment("HOME").value_or("");
  if (!home.empty()) {
    return address_of_file(here / home / ".local" / "state" / "treaty" / "treaty.db");
  }
  return address_fault("there is no place for the store: neither XDG_STATE_HOME nor HOME is set",
                       "give --state-dir DIR, or `store: sqlite:///PATH` in treaty.yaml");
}

std::expected<std::string, Diagnostic> parse_store(std::string_view text, std::string_view folder,
                                                   const Sources& sources) {
  constexpr std::string_view kHint = "such as sqlite:///var/lib/treaty/treaty.db";
  const std::string_view store = trimmed(text);
  if (store == "sqlite") return default_store(sources);
  if (starts_with_folded(store, "postgres:") || starts_with_folded(store, "postgresql:")) {
    return address_fault("stores in PostgreSQL are not supported yet", kHint);
  }
  if (!store.starts_with("sqlite:")) {
    return address_fault("the store is not one that is known", kHint);
  }
  std::string_view path = store.substr(7);
  if (path.starts_with("//")) path.remove_prefix(2);
  if (store.starts_with("sqlite://") && !path.starts_with('/')) {
    return address_fault("the store's address has a host; it is a file",
                         "sqlite:/// has three slashes");
  }
  if (path.empty() || path.ends_with('/') || path == ":memory:") {
    return address_fault("the store's address names no file", kHint);
  }
  return address_of_file(fs::path(folder) / path);
}

}  // namespace treaty::config
