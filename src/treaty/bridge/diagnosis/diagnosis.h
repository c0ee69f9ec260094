// What is wrong in a directory, how it came about, and the commands that mend it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/bridge/diagnosis/view.h"

namespace treaty::bridge {

enum class Severity {
  trouble,  // Nothing goes on by itself;
  note,     // good to know.
};

enum class Problem {
  directory_missing,
  not_a_directory,
  directory_unreadable,
  directory_unwritable,
  folder_unwritable,
  disk_full,
  request_unreadable,
  request_being_written,
  request_torn,
  request_repairable,
  request_broken,
  request_waiting,
  request_overdue,
  request_refused,
  request_left,
  request_elsewhere,
  answer_unreadable,
  answer_being_written,
  answer_torn,
  answer_byte_order_mark,
  answer_repairable,
  answer_bare,
  answer_broken,
  answer_place_taken,
  answer_place_missing,
  answer_foreign,
  answer_other_phase,
  answer_stale,
  answer_orphaned,
  answer_misplaced,
  answer_gone,
  answer_error,
  answer_timeout,
  answer_ready,
  driver_at_work,
  lock_dead,
  run_interrupted,
  run_asks_again,
  run_asks_too_often,
  run_without_request,
  run_failed,
  journal_unreadable,
  journal_damaged,
  leftovers,
  quarantined,
};

// What there is to say of a problem in general.
struct ProblemKind {
  Problem problem;
  std::string_view code;  // Stable: programs may know it.
  Severity severity;
  std::string_view mend;  // With words in capitals for what differs.
  std::string_view what;
  std::string_view why;
};
std::span<const ProblemKind> problem_kinds();
const ProblemKind& kind_of(Problem problem);

using Words = std::vector<std::string>;  // Of a command, not quoted yet.

struct Diagnosis {
  Problem problem;
  std::string what{};
  std::string why{};
  std::vector<Words> mend{};  // One after the other; empty when there is nothing to do.

  const ProblemKind& kind() const { return kind_of(problem); }
};

// Troubles first.
std::vector<Diagnosis> diagnose(const DirectoryView& view);

// What to give next for the requests and answers of the directory, after `check` has shown what is
// wrong with them; empty when that is for a person to decide. One command that repairs comes before
// all that are about a single file.
std::vector<Words> next_commands(const DirectoryView& view);

enum class DirectoryStatus {
  unusable,     // The directory itself is in the way.
  driven,       // A driver is at work.
  unreadable,   // What is asked cannot be read.
  waiting,      // Something is asked and not answered.
  answered,     // The program has not been run again yet.
  interrupted,  // A run waits to be gone on with.
  settled,      // Everything is answered, and the program has gone on.
  idle,         // Nothing is asked.
};
DirectoryStatus status_of(const DirectoryView& view);
std::string_view name_of(DirectoryStatus status);

// One sentence, without the directory's name.
std::string text_of(DirectoryStatus status, const DirectoryView& view);

}  // namespace treaty::bridge
