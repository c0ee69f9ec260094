// treaty.yaml as a value: everything that the commands which run turns need to know.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "treaty/turns/settings.h"

namespace treaty::machines {
struct Machine;
}

namespace treaty::config {

struct Listen {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8088;
  bool operator==(const Listen&) const = default;
};

// Who may come in: a key is known by its SHA-256 alone.
struct AccessKey {
  std::string tenant;
  std::string sha256;  // 64 lower-case hex digits.
};

// What a `dispatch` map says. What it does not say comes from a wider one, or is the default.
struct PolicyOverrides {
  std::optional<dispatch::Seconds> max_wait{};
  std::optional<int> max_attempts{};
  std::optional<dispatch::Backoffs> backoff{};
  std::optional<double> jitter{};
  std::optional<int> max_concurrent{};
  std::optional<int> breaker_failures{};
  std::optional<dispatch::Seconds> breaker_open{};
  std::optional<dispatch::Seconds> connect{};
  std::optional<dispatch::Seconds> first_token{};
  std::optional<dispatch::Seconds> stall{};
};

// The kinds of backends. To add one: a struct here, an alternative of BackendSettings, and a
// builder in app/backends.cpp, which does not compile without it.

// A backend over HTTP: a provider of the table with the operator's own address and key.
struct HttpProvider {
  std::string kind;        // "openai", "cerebras", "custom"…
  std::string base_url{};  // As base_url_of() makes it.
  std::string key{};       // The secret itself; never printed.
  std::string protocol{};  // Empty: the provider's own.
  std::string ca_file{};
  std::chrono::milliseconds timeout{300'000};
  PolicyOverrides dispatch{};  // The chains have it applied already.
};

// Providers of this machine load their model with the first call.
dispatch::Pace pace_of(const HttpProvider& provider);

// Why this model of the provider cannot be asked to reason that way; empty: it can.
std::string refusal_of(const HttpProvider& provider, std::string_view model,
                       const backends::Reasoning& reasoning, bool has_tools);

// A backend that plays a script.
struct ScriptFile {
  std::string path{};  // Empty: the demo that is built in.
  std::string text{};  // What the file holds.
};

// A backend that asks by file, in a directory.
struct BridgeDirectory {
  std::string path{};
  std::string agent_name{};
  std::chrono::milliseconds timeout{120'000};
};

// A machine, checked, whose agents do what an agent is asked.
struct MachineFile {
  std::string path{};
  std::string sha256{};  // Of what the file holds.
  std::shared_ptr<const machines::Machine> machine{};
};

using BackendSettings = std::variant<HttpProvider, ScriptFile, BridgeDirectory, MachineFile>;

struct Http {
  bool always_200 = false;
  std::size_t max_body_bytes = std::size_t{16} << 20U;
  std::size_t body_memory = std::size_t{256} << 20U;
  std::size_t max_header_bytes = std::size_t{64} << 10U;
  std::size_t max_connections = 10'000;
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds idle_timeout{60'000};
  std::chrono::milliseconds shutdown_timeout{30'000};
};

constexpr std::string_view kBuiltInPrices = "built-in";  // In the place of a file's path.

struct Configuration {
  std::string source{};  // The file; empty: no file.
  Listen listen{};
  std::string store{};  // "sqlite:///…".
  int workers = 0;      // 0: one a core.
  std::vector<AccessKey> keys{};
  std::map<std::string, BackendSettings, std::less<>> backends{};  // By the name in a chain.
  std::vector<std::string> allowed_addresses{};  // For webhooks of machines, beside the internet's.
  std::string prices_file{};                     // Empty: the table that is built in.
  std::string prices_text{};                     // What the file holds.
  Http http{};
  turns::Settings turns{};
  std::chrono::milliseconds turn_deadline{300'000};  // Of agents that name none of their own.
  std::vector<std::string> notes{};  // For people: which backend was chosen, and why.

  // The settings of a backend of that kind; null when there is none of that name and kind.
  template <class Kind>
  const Kind* find_backend(std::string_view name) const {
    const auto found = backends.find(name);
    return found == backends.end() ? nullptr : std::get_if<Kind>(&found->second);
  }

  // All backends of that kind, by name.
  template <class Kind>
  std::vector<std::pair<std::string_view, const Kind*>> backends_of() const {
    std::vector<std::pair<std::string_view, const Kind*>> found;
    for (const auto& [name, settings] : backends) {
      if (const auto* kind = std::get_if<Kind>(&settings)) found.emplace_back(name, kind);
    }
    return found;
  }
};

}  // namespace treaty::config
