// `treaty bridge check --fix`: repairs what has one repair, moves answers to their places and puts
// away what can be taken for something else. The original of everything that is changed is kept in
// the quarantine.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/bridge/driver.h"

namespace treaty::cli {

constexpr std::string_view kSwapped = "swapped";

// What was done about a file.
struct Mended {
  std::string file{};
  std::string reason{};  // "repaired", "moved", kSwapped; else why it was put away: "stale".
  std::vector<std::string> repairs{};  // "BRS-09 /created_at: created_at has no zone".
  std::string kept_as{};               // The original, or
  std::string moved_to{};              // where the file is now.
};

// `now` is RFC 3339. Adds to `done`, of which an error takes nothing back.
std::expected<void, Error> mend_directory(bridge::Driver& driver, const std::string& now,
                                          std::vector<Mended>& done);

}  // namespace treaty::cli
