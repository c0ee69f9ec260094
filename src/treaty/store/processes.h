// Processes by names that no other process has, and whether they still run.
#pragma once

#include <string>
#include <string_view>

namespace treaty::store {

// This process: `host:pid:start`, start in clock ticks since the host came up. What is put behind
// it begins with a colon.
std::string process_name();

// True when `name` begins with that of a process of this host which has ended. In doubt it runs.
bool is_gone(std::string_view name);

}  // namespace treaty::store
