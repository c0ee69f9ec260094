// A script of a simulated run: what agents, tools and hooks answer, which signals are there, and
// where the process shall die (`treaty machine run --script`).
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/machine.h"

namespace treaty::machines {

struct Crash {
  std::string event{};
  std::int64_t step = 0;
};

struct Script {
  std::map<std::string, List, std::less<>> agents{};  // Answers, in their order.
  std::map<std::string, List, std::less<>> tools{};
  std::map<std::string, std::map<std::string, List, std::less<>>, std::less<>> hooks{};
  std::map<std::string, List, std::less<>> signals{};  // By channel.
  std::optional<Crash> crash{};
};

// JSON or YAML. The error says what is wrong, for people.
std::expected<Script, std::string> read_script(std::string_view text);

}  // namespace treaty::machines
