// Where answers go that must not be read, and files that stand in the way: kept for a while.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "treaty/base/error.h"

namespace treaty::bridge {

// Moves the file into the directory's quarantine under a name that tells when, what and why, and
// never over another one; answers its new path. `reason` is a word such as "stale".
std::expected<std::string, Error> move_to_quarantine(const std::string& directory,
                                                     const std::string& path,
                                                     std::string_view reason);

// The same for a copy: the file stays where it is.
std::expected<std::string, Error> copy_to_quarantine(const std::string& directory,
                                                     const std::string& path,
                                                     std::string_view reason);

struct QuarantineRules {
  double days = 30;                                 // Older files are deleted,
  std::size_t most_bytes = std::size_t{64} << 20U;  // and the oldest ones beyond this,
  double days_kept = 1;                             // but none that is younger.
};

// Deletes what has been there for long enough. Files that were not put there by the functions above
// stay. `now` in seconds since 1970.
void prune_quarantine(const std::string& directory, double now, const QuarantineRules& rules = {});

// Makes `.treaty-bridge/` and `.treaty-bridge/quarantine/`.
// Fails when one of them is a symbolic link (linked_folder).
std::expected<void, Error> make_folders(const std::string& directory);

// The folder of treaty's own that is a symbolic link; empty when none is. A link is not followed:
// others who may write to the directory could have it lead to a place where only this user may
// write.
std::string linked_folder(const std::string& directory);

}  // namespace treaty::bridge
