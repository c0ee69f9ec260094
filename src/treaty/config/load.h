// From flags, the environment and treaty.yaml to one Configuration: flags come before the
// environment, that before the file, and the file before what is built in.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/diagnostic.h"
#include "treaty/base/error.h"
#include "treaty/config/configuration.h"

namespace treaty::config {

// What was given with the command.
struct Flags {
  std::optional<std::string> config{};     // --config FILE.
  std::optional<std::string> listen{};     // --listen ADDRESS:PORT.
  std::optional<std::string> state_dir{};  // --state-dir DIR.
};

// All that a configuration is made from; load() looks at nothing else.
struct Sources {
  Flags flags{};
  backends::Environment environment{};
  std::function<std::expected<std::string, Error>(const std::string& path)> read_file{};
  std::function<bool(const std::string& path)> file_exists{};
  std::string directory = "/";  // Where the process stands; absolute.
  double now = 0;               // Seconds since 1970: prices have dates.
};

// Those of this process: its environment, its files, where it stands.
Sources process_sources(Flags flags);

// All that is wrong with it, in the order of the file. No message holds a secret.
std::expected<Configuration, std::vector<Diagnostic>> load(const Sources& sources);

// The file that load() reads; nothing when there is none.
std::optional<std::string> file_of(const Sources& sources);

// Every key that treaty.yaml may have: "listen", "agents.NAME.tools[].run"…
std::vector<std::string> known_keys();

}  // namespace treaty::config
