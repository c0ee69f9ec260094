// A directory of the bridge as it is now: everything that a diagnosis is made from, as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/bridge/diagnosis/stray_answers.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/lock.h"

namespace treaty::bridge {

enum class Presence { missing, not_a_directory, unreadable, there };

// What is wrong with writing into a directory that is there.
enum class DirectoryAccess {
  good,
  denied,          // Its owner can allow it to himself;
  others,          // it belongs to somebody else;
  read_only_disk,  // nobody can write there;
  not_a_directory,
};

// What is free for those who look.
struct Space {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  bool operator==(const Space&) const = default;
};

struct DirectoryView {
  std::string directory = ".";  // As it was named; the files in it are named by it, too.
  std::string here{};           // Where it is looked at from.
  Presence presence = Presence::there;
  DirectoryAccess access = DirectoryAccess::good;
  DirectoryAccess folder_access =
      DirectoryAccess::good;  // Of what treaty keeps there; good while it is not there.
  std::optional<Space> space{};
  std::vector<Exchange> exchanges{};
  std::vector<StrayAnswer> strays{};
  std::vector<std::string> stray_requests{};  // When nothing is asked here.
  std::vector<std::string> missing_places{};  // Directories that answers belong into.
  LockView lock{};
  JournalText journal{};
  std::string journal_problem{};         // Why it cannot be read.
  bool program_runs = false;             // The one that the journal says was started last.
  std::vector<std::string> leftovers{};  // Of writers that were killed.
  std::size_t quarantined = 0;
  double now = 0;  // Seconds since 1970.
};

// Changes nothing and needs no lock.
DirectoryView look_at(const std::string& directory);

}  // namespace treaty::bridge
