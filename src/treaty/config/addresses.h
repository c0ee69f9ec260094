// The two addresses of a gateway: where it listens, and where its store is.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/config/configuration.h"
#include "treaty/config/load.h"

namespace treaty::config {

// "127.0.0.1:8088", "[::1]:8088", "localhost:8088". Port 0 is a free one.
std::expected<Listen, Diagnostic> parse_listen(std::string_view text);

// As a URL or a flag would have it: an IPv6 address in brackets.
std::string text_of(const Listen& listen);

// Only this machine can reach it.
bool is_loopback(const Listen& listen);

// What is wrong with serving there, with keys or without: other machines need a key. Nothing when
// it is fine. For a start, and for a reload, which changes the keys but not the listener.
std::optional<Diagnostic> find_open_door(const Listen& listen, bool has_keys);

// "sqlite:///PATH" out of that, of "sqlite:PATH" (relative to `folder`, which is absolute), or of
// "sqlite" alone, which is treaty.db in the state directory.
std::expected<std::string, Diagnostic> parse_store(std::string_view text, std::string_view folder,
                                                   const Sources& sources);

// The store when nobody names one.
std::expected<std::string, Diagnostic> default_store(const Sources& sources);

}  // namespace treaty::config
