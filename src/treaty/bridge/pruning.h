// What a directory's journal keeps: everything that a driver needs to resume, and the rest for a
// while. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "treaty/bridge/journal.h"

namespace treaty::bridge {

struct KeepingRules {
  double days = 30;                                 // Older entries go,
  std::size_t most_bytes = std::size_t{4} << 20U;   // and the oldest of a larger journal,
  std::size_t bytes_after = std::size_t{2} << 20U;  // down to this.
  double days_between = 1;                          // So that it is not rewritten all the time.
};

// What the directory still has.
struct StillThere {
  std::set<std::string> request_ids{};                      // The ids of its requests.
  std::function<bool(const std::string& path)> has_file{};  // Anywhere.
};

// The entries that stay; nothing when all of them do. These always stay: of a run that can be
// resumed its starts, exits and answers; questions that were asked and not answered; the newest
// answer to each request, and in each file, that is still there. `now` in seconds since 1970.
std::optional<std::vector<Entry>> pruned(std::span<const Entry> entries, const StillThere& there,
                                         double now, const KeepingRules& rules = {});

}  // namespace treaty::bridge
