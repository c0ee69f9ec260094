// A directory of the bridge as it is now: everything that a diagnosis is made from, as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/lock.h"
#include "treaty/bridge/questions.h"

namespace treaty::bridge {

enum class Presence { missing, not_a_directory, unreadable, there };

// What is wrong with writing into a directory that is there.
enum class DirectoryAccess {
  good,
  denied,          // Its owner can allow it to himself;
  others,          // it belongs to somebody else;
  read_only_disk,  // nobody can write there;
  not_a_directory,
  link,  // A symbolic link in the place of a folder of treaty's own.
};

// What is free for those who look.
struct Space {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  bool operator==(const Space&) const = default;
};

// An answer that lies where no program looks for it: under a name that is nearly right, or in the
// directory where some agent happened to stand.
struct StrayAnswer {
  std::string path{};
  std::string request_id{};  // Of the request that waits for it.
  bool operator==(const StrayAnswer&) const = default;
};

struct DirectoryView {
  std::string directory = ".";  // As it was named; the files in it are named by it, too.
  std::string here{};           // Where it is looked at from.
  Presence presence = Presence::there;
  DirectoryAccess access = DirectoryAccess::good;
  DirectoryAccess folder_access =
      DirectoryAccess::good;  // Of what treaty keeps there; good while it is not there.
  DirectoryAccess quarantine_access = DirectoryAccess::good;  // Likewise.
  std::optional<Space> space{};
  std::vector<Exchange> exchanges{};
  std::vector<StrayAnswer> strays{};
  std::vector<std::string> stray_requests{};  // When nothing is asked here: those nearby,
  std::string request_elsewhere{};            // and the place that was found for a program's own.
  std::string
      asked_in{};  // Where the last program that was driven has written a request that waits.
  std::vector<std::string> missing_places{};  // Directories that answers belong into.
  std::vector<std::string> backups{};         // Existing ones, such as FILE.old.
  LockView lock{};
  JournalText journal{};
  std::string journal_problem{};         // Why it cannot be read.
  bool program_runs = false;             // The one that the journal says was started last.
  std::vector<std::string> leftovers{};  // Of writers that were killed.
  std::size_t quarantined = 0;
  double now = 0;  // Seconds since 1970.

  bool has_request() const;  // One that can be read, or not.
};

// Whether a path that a request may have named is below the directory, so that a command for it
// does no harm elsewhere.
bool is_below(const DirectoryView& view, const std::string& path);

// A path to move a file or directory to that no other one has: PATH.END, else PATH.2.END and so on.
std::string backup_path(const DirectoryView& view, const std::string& path, std::string_view end);

// Changes nothing and needs no lock.
DirectoryView look_at(const std::string& directory);

// True for names that somebody may have given to an answer: `agent-response.json`,
// `.agent_response.json`, `.agent-response.json.txt`.
bool is_like_an_answer(std::string_view file_name);

// The request_id of a text that is written as an answer; empty when it is none.
std::string answered_id(std::string_view text);

// Looks for the answers that the exchanges wait for: in the directory, in those above it, in those
// right below it, and in the current directory of the process.
std::vector<StrayAnswer> find_stray_answers(const std::string& directory,
                                            std::span<const Exchange> exchanges,
                                            const AnsweredQuestions& answered = {});

// Right above, right below and where the process stands; without the directory itself.
std::vector<std::string> places_nearby(const std::string& directory);

// Requests there that are not settled, for a directory in which nothing is asked.
std::vector<std::string> find_stray_requests(const std::string& directory);

}  // namespace treaty::bridge
