// Where answers go that must not be read, and files that stand in the way: kept, never deleted.
#pragma once

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

// Makes `.treaty-bridge/` and `.treaty-bridge/quarantine/`.
std::expected<void, Error> make_folders(const std::string& directory);

}  // namespace treaty::bridge
