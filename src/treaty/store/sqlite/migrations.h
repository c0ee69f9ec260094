// The schema of the store, and how older files come to it.
#pragma once

#include <expected>
#include <span>
#include <string>

#include "treaty/base/error.h"
#include "treaty/store/sqlite/database.h"

namespace treaty::store::sqlite {

constexpr std::int64_t kApplication = 0x54525459;  // "TRTY", in the header of our files.

constexpr std::int64_t kOldestReadable = 1;       // Sessions and turns are read as they are now.
constexpr std::int64_t kVersionWithBudgets = 2;   // Of budgets and pools older ones know nothing.
constexpr std::int64_t kVersionWithMachines = 3;  // The same of machines.

// Step N brings a file from version N to version N + 1. Steps are never changed, only added.
std::span<const char* const> migrations();

// Whether this program can use the file as it is. An empty one has version 0.
// `too_new`: written by a later version; `corrupt`: another program's, or damaged.
std::expected<std::int64_t, Error> check_version(Database& database, const std::string& path);

// Makes an empty file ours and brings an older one up to date, in one transaction.
std::expected<void, Error> migrate(Database& database, const std::string& path);

}  // namespace treaty::store::sqlite
