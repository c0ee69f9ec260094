// What a person who waits for a turn is told about it, from the entries of its diary. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treaty::cli {

struct WaitNotice {
  std::string text{};               // "waiting for main: server_error: trying again in 2.1 s".
  std::optional<double> seconds{};  // How long, when that is known.
};

// Nothing for entries that are about no wait. A switch to another backend counts as one.
std::optional<WaitNotice> notice_of(std::string_view kind, std::string_view data);

// "main (gpt-4o): server_error 503". Nothing for other entries, and for calls that were cancelled.
std::optional<std::string> failed_attempt_of(std::string_view kind, std::string_view data);

}  // namespace treaty::cli
