// From a path to a database that can be used: made, checked, brought up to date.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>

#include "treaty/store/sqlite/journal.h"
#include "treaty/store/sqlite/owners.h"
#include "treaty/store/store.h"

namespace treaty::store::sqlite {

struct Opened {
  Database database;
  std::optional<Owners> owners{};  // Absent: opened to be read. Has a number if turns are run.
  bool was_left_open = false;      // Some process before this one did not end in good order.
};

std::expected<Opened, Error> open_database(const std::string& path, Purpose purpose);

// Gives whoever runs turns a number that nobody ever had, and forgets those who are gone; what they
// had reserved is spent. `hold` is called before anybody can see the number.
struct SignedOn {
  std::int64_t owner = 0;
  bool others_were_gone = false;
};
std::expected<SignedOn, Error> sign_on(
    Database& database, const std::string& path, const IsGone& is_gone,
    const std::function<std::expected<void, Error>(std::int64_t owner)>& hold);

// What the owner has reserved is spent. What fails here is found by the next one, as if this one
// had been killed.
void sign_off(Database& database, std::int64_t owner);

// --- The schema of the store, and how older files come to it.

constexpr std::int64_t kApplication = 0x54525459;  // "TRTY", in the header of our files.

constexpr std::int64_t kOldestReadable = 1;       // Sessions and turns are read as they are now.
constexpr std::int64_t kVersionWithBudgets = 2;   // Of budgets and pools older ones know nothing.
constexpr std::int64_t kVersionWithMachines = 3;  // The same of machines.
constexpr std::int64_t kVersionWithExecutionsOfSessions = 5;  // The same of their sessions,
constexpr std::int64_t kVersionWithHiddenSessions = 6;        // and of sessions in part.

// Step N brings a file from version N to version N + 1. Steps are never changed, only added.
std::span<const char* const> migrations();

// Whether this program can use the file as it is. An empty one has version 0.
// `too_new`: written by a later version; `corrupt`: another program's, or damaged.
std::expected<std::int64_t, Error> check_version(Database& database, const std::string& path);

// Makes an empty file ours and brings an older one up to date, in one transaction.
std::expected<void, Error> migrate(Database& database, const std::string& path);

}  // namespace treaty::store::sqlite
