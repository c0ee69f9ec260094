#include "treaty/bridge/diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>

#include "treaty/bridge/diagnosis/absence.h"
#include "treaty/bridge/diagnosis/remedy.h"
#include "treaty/bridge/diagnosis/wording.h"
#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

constexpr std::uint64_t kLeastSpace = std::uint64_t{1} << 20U;  // Bytes: an answer and its journal.

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void look_at_presence(const DirectoryView& view, std::vector<Diagnosis>& found) {
  const std::string& directory = view.directory;
  switch (view.presence) {
    case Presence::there: break;
    case Presence::missing:
      add(found, Problem::directory_missing, fmt::format("there is no directory {}", directory),
          {{"mkdir", "-p", directory}});
      break;
    case Presence::not_a_directory:
      add(found, Problem::not_a_directory, fmt::format("{} is a file", directory),
          {bridge_command({.directory = parent_of(directory)}, "doctor")});
      break;
    case Presence::unreadable:
      add(found, Problem::directory_unreadable, fmt::format("{} cannot be read", directory),
          {{"chmod", "u+rwx", directory}});
      break;
  }
}

void look_at_access(const DirectoryView& view, const std::string& directory, DirectoryAccess access,
                    Problem problem, std::vector<Diagnosis>& found) {
  const std::string what = fmt::format("{} cannot be written to", directory);
  switch (access) {
    case DirectoryAccess::good: break;
    case DirectoryAccess::denied: add(found, problem, what, {{"chmod", "u+rwx", directory}}); break;
    case DirectoryAccess::others:
      add(found, problem, what + ": it belongs to another user", {{"ls", "-ld", directory}});
      break;
    case DirectoryAccess::read_only_disk:
      add(found, problem, what + ": its file system is read-only", {{"findmnt", "-T", directory}});
      break;
    case DirectoryAccess::not_a_directory:
      add(found, problem, fmt::format("{} is no directory", directory),
          {{"mv", directory, backup_path(view, directory, "old")}});
      break;
    case DirectoryAccess::link:
      add(found, problem, fmt::format("{} is a symbolic link, not a directory", directory),
          {{"rm", directory}},
          "treaty does not follow links here, because they could lead to files of other users. "
          "Remove the link, and treaty creates the directory; the target of the link is not "
          "touched");
      break;
  }
}

void look_at_space(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (!view.space) return;
  const bool no_bytes = view.space->bytes < kLeastSpace;
  if (!no_bytes && view.space->files > 0) return;
  add(found, Problem::disk_full,
      no_bytes ? fmt::format("the disk is full: {} bytes are free", view.space->bytes)
               : "the disk is full: it can hold no more files",
      {{"df", no_bytes ? "-h" : "-i", view.directory}});
}

void look_at_holder(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (view.lock.state == LockState::held) {
    add(found, Problem::driver_at_work,
        fmt::format("{} drives this directory", text_of(view.lock.holder)));
  } else if (view.lock.state == LockState::dead) {
    add(found, Problem::lock_dead,
        fmt::format("{} had the lock and is gone", text_of(view.lock.holder)));
  }
}

void look_elsewhere(const DirectoryView& view, std::vector<Diagnosis>& found) {
  const std::string place =
      view.stray_requests.empty() ? view.request_elsewhere : parent_of(view.stray_requests.front());
  if (place.empty()) return;
  const std::string nearest =
      view.stray_requests.empty() ? "one in " + place : view.stray_requests.front();
  add(found, Problem::request_elsewhere,
      fmt::format("there is no request here, but there is {}", nearest),
      {bridge_command({.directory = place}, "doctor")});
}

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void look_at_files(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (!view.journal_problem.empty()) {
    const std::string path = journal_path(view.directory);
    add(found, Problem::journal_unreadable, fmt::format("{} {}", path, view.journal_problem),
        {{"chmod", "u+rw", path}});
  }
  if (view.journal.damaged_lines > 0) {
    add(found, Problem::journal_damaged,
        fmt::format("the journal has {}", counted(view.journal.damaged_lines, "damaged line")),
        {bridge_command(view, "log")});
  }
  if (!view.leftovers.empty() && view.lock.state != LockState::held) {
    add(found, Problem::leftovers,
        fmt::format("{} of writers that were killed: {}",
                    counted(view.leftovers.size(), "unfinished file"),
                    fmt::join(view.leftovers, ", ")),
        {bridge_command(view, "check", {"--fix"})});
  }
  if (view.quarantined > 0) {
    add(found, Problem::quarantined,
        fmt::format("{} in the quarantine", counted(view.quarantined, "file")),
        {{"ls", "-l", quarantine_path(view.directory)}});
  }
}

// What the journal tells of runs: interrupted, stopped, failed.

std::int64_t exit_in(const Entry& entry) { return entry.details.find_integer("exit").value_or(0); }

// How the last run ended; nothing when it was gone on with, or nobody saw its end.
const Entry* last_end(const DirectoryView& view) {
  const auto& entries = view.journal.entries;
  const auto last = std::find_if(entries.rbegin(), entries.rend(), [](const Entry& entry) {
    return entry.event.starts_with("run.") || entry.event.starts_with("program.");
  });
  return last != entries.rend() && last->event == "run.ended" ? &*last : nullptr;
}

// What the last run drove, whether or not it has come to its end.
RunState last_run(const DirectoryView& view) {
  const auto& entries = view.journal.entries;
  const auto last = std::find_if(entries.rbegin(), entries.rend(),
                                 [](const Entry& entry) { return entry.event == "run.started"; });
  return last == entries.rend() ? RunState{} : replay_run(std::span(&*last, 1));
}

// The first sentence; what comes behind it is what to do next, which is told here, too.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

std::string why_interrupted(const DirectoryView& view, const Entry* end) {
  if (view.program_runs) return "its driver was ended; the program still runs";
  if (end == nullptr) return "its driver was ended: killed, or with the machine";
  const std::string message = first_line(text_in(*end, "message"));
  return message.empty() ? std::string(kind_of(Problem::run_interrupted).why) : message;
}

// Its beginning may be among the lines that are damaged.
std::vector<Words> go_on_with(const DirectoryView& view, const RunState& run) {
  if (run.command.empty()) return {bridge_command(view, "log")};
  return run_again(view, run);
}

void look_at_open_run(const DirectoryView& view, const RunState& run, const Entry* end,
                      std::vector<Diagnosis>& found) {
  const std::string reason = end == nullptr ? "" : text_in(*end, "reason");
  const std::string message = end == nullptr ? "" : first_line(text_in(*end, "message"));
  if (reason == "same_request") {
    add(found, Problem::run_asks_again, message, {bridge_command(view, "log")});
  } else if (reason == "too_many_resumes") {
    add(found, Problem::run_asks_too_often, message, {bridge_command(view, "log")});
  } else if (reason == "no_request" && !view.has_request()) {
    // The same command would end in the same way. A run in a place whose request is of another
    // program would put that request away.
    const std::string place = view.asked_in == view.here ? "." : view.asked_in;
    add(found, Problem::run_without_request, {},
        place.empty() ? std::vector<Words>{bridge_command(view, "log")}
                      : go_on_with({.directory = place, .here = view.here}, run));
  } else {
    const bool is_known = !run.command.empty();
    add(found, Problem::run_interrupted,
        fmt::format("a run{}{} was interrupted {}", is_known ? " of " : "",
                    fmt::join(run.command, " "),
                    run.stage == Stage::needs ? "before its request was answered"
                                              : "while the program ran"),
        go_on_with(view, run), why_interrupted(view, end));
  }
}

void look_at_ended_run(const DirectoryView& view, const Entry& end, std::vector<Diagnosis>& found) {
  const std::string reason = text_in(end, "reason");
  const RunState run = last_run(view);
  if (reason == "exited" && exit_in(end) != 0) {
    add(found, Problem::run_failed,
        fmt::format("the last program that was driven ({}) ended with {}",
                    fmt::join(run.command, " "), exit_in(end)),
        {bridge_command(view, "log")});
  } else if (reason == "not_started") {
    add(found, Problem::run_failed, first_line(text_in(end, "message")), {},
        "nothing was run, and nothing was asked");
  }
}

void diagnose_run(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (view.lock.state == LockState::held) return;
  const RunState run = replay_run(view.journal.entries);
  const Entry* end = last_end(view);
  if (run.stage != Stage::none) {
    look_at_open_run(view, run, end, found);
  } else if (end != nullptr) {
    look_at_ended_run(view, *end, found);
  }
}

}  // namespace

namespace {

std::string_view target_of_move(const Diagnosis& diagnosis) {
  const bool moves = !diagnosis.mend.empty() && diagnosis.mend.back().size() == 3 &&
                     diagnosis.mend.back().front() == "mv";
  return moves ? std::string_view(diagnosis.mend.back()[2]) : std::string_view();
}

// If two files belong in one place, the second `mv` would overwrite the first; `check --fix` keeps
// both.
void keep_files_apart(const DirectoryView& view, std::vector<Diagnosis>& found) {
  const auto shares_its_target = [&](const Diagnosis& one) {
    const std::string_view target = target_of_move(one);
    return !target.empty() && std::ranges::count(found, target, target_of_move) > 1;
  };
  std::vector<Diagnosis*> shared;
  for (Diagnosis& one : found) {
    if (shares_its_target(one)) shared.push_back(&one);
  }
  for (Diagnosis* one : shared) one->mend = {bridge_command(view, "check", {"--fix"})};
}

}  // namespace

std::vector<Diagnosis> diagnose(const DirectoryView& view) {
  std::vector<Diagnosis> found;
  look_at_presence(view, found);
  if (!found.empty()) return found;
  look_at_access(view, view.directory, view.access, Problem::directory_unwritable, found);
  look_at_access(view, path_in(view.directory, kFolder), view.folder_access,
                 Problem::folder_unwritable, found);
  if (view.folder_access == DirectoryAccess::good) {
    look_at_access(view, quarantine_path(view.directory), view.quarantine_access,
                   Problem::folder_unwritable, found);
  }
  look_at_space(view, found);
  diagnose_exchanges(view, found);
  keep_files_apart(view, found);
  diagnose_run(view, found);
  look_elsewhere(view, found);
  look_at_holder(view, found);
  look_at_files(view, found);
  std::vector<Diagnosis> sorted;
  sorted.reserve(found.size());
  for (const Severity severity : {Severity::trouble, Severity::note}) {
    std::ranges::copy_if(found, std::back_inserter(sorted), [&](const Diagnosis& diagnosis) {
      return diagnosis.kind().severity == severity;
    });
  }
  return sorted;
}

std::vector<Words> next_commands(const DirectoryView& view) {
  std::vector<Diagnosis> found;
  diagnose_exchanges(view, found);
  keep_files_apart(view, found);
  std::vector<Words> fix = {bridge_command(view, "check", {"--fix"})};
  const std::vector<Words> check = {bridge_command(view, "check")};
  if (std::ranges::find(found, fix, &Diagnosis::mend) != found.end()) return fix;
  const auto next = std::ranges::find_if(found, [&](const Diagnosis& diagnosis) {
    return diagnosis.kind().severity == Severity::trouble && !diagnosis.mend.empty() &&
           diagnosis.mend != check;
  });
  return next == found.end() ? std::vector<Words>() : next->mend;
}

DirectoryStatus status_of(const DirectoryView& view) {
  if (view.presence != Presence::there) return DirectoryStatus::unusable;
  if (view.lock.state == LockState::held) return DirectoryStatus::driven;
  const auto any = [&](const auto& test) { return std::ranges::any_of(view.exchanges, test); };
  const auto was_asked = [](const Exchange& one) { return one.request.state != FileState::absent; };
  const auto is_taken = [&](const Exchange& one) {
    return was_taken(view.journal.entries, one.request.document->request_id);
  };
  if (any([&](const Exchange& one) { return was_asked(one) && !one.is_asked(); })) {
    return DirectoryStatus::unreadable;
  }
  const RunState run = replay_run(view.journal.entries);
  const bool is_open = run.stage != Stage::none;
  if (any([&](const Exchange& one) {
        return one.waits() && (is_open || !is_taken(one) ||
                               absence_of(one, view.journal.entries) == Absence::waits);
      })) {
    return DirectoryStatus::waiting;
  }
  // A host may delete a request that was answered.
  const auto is_known = [&](const Exchange& one) {
    return is_known_answer(one, view.journal.entries);
  };
  if (any([&](const Exchange& one) {
        if (is_known(one))
          return !was_taken(view.journal.entries, one.response.document->request_id);
        return one.is_asked() && !one.waits() && !is_taken(one);
      })) {
    return DirectoryStatus::answered;
  }
  if (is_open) return DirectoryStatus::interrupted;
  return any(was_asked) || any(is_known) ? DirectoryStatus::settled : DirectoryStatus::idle;
}

std::string_view name_of(DirectoryStatus status) {
  constexpr std::array<std::string_view, 8> kNames = {
      "unusable", "driven", "unreadable", "waiting", "answered", "interrupted", "settled", "idle"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string text_of(DirectoryStatus status, const DirectoryView& view) {
  switch (status) {
    case DirectoryStatus::unusable: return "cannot be used";
    case DirectoryStatus::driven: return "a driver is at work";
    case DirectoryStatus::unreadable: return "a request cannot be read";
    case DirectoryStatus::waiting: {
      const auto count = std::ranges::count_if(view.exchanges, &Exchange::waits);
      return count == 1 ? "waits for an agent" : fmt::format("waits for {} answers", count);
    }
    case DirectoryStatus::answered: return "answered; run the program with --resume";
    case DirectoryStatus::interrupted: return "a run was interrupted and can be continued";
    case DirectoryStatus::settled:
      return "everything is answered, and the program has taken the answers";
    case DirectoryStatus::idle: return "there is no request";
  }
  return {};
}

Words bridge_command(const DirectoryView& view, std::string_view verb, const Words& more) {
  Words words = {"treaty", "bridge", std::string(verb)};
  if (view.directory != ".") words.insert(words.end(), {"--dir", view.directory});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Words> given_from(const std::string& from, const DirectoryView& view,
                              std::string_view verb, const Words& more) {
  const bool is_elsewhere = !from.empty() && !view.here.empty() && view.here != from;
  const std::filesystem::path named(view.directory);
  const auto directory =
      (is_elsewhere ? std::filesystem::path(view.here) / named : named).lexically_normal().string();
  const Words words = bridge_command({.directory = directory}, verb, more);
  if (!is_elsewhere) return {words};
  return {{"cd", from}, words};
}

std::vector<Words> run_again(const DirectoryView& view, const RunState& run) {
  Words words = run.options;
  words.emplace_back("--");
  words.insert(words.end(), run.command.begin(), run.command.end());
  return given_from(run.from, view, "run", words);
}

std::vector<Words> answer_again(const DirectoryView& view, std::string_view request_id,
                                Words words) {
  const AskedRequest asked = last_asked(view.journal.entries, request_id).value_or(AskedRequest());
  words.insert(words.end(), asked.options.begin(), asked.options.end());
  return given_from(asked.from, view, "answer", words);
}

std::string duration_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  seconds = std::max(seconds, 0.0);
  if (seconds < 2 * kMinute) return fmt::format("{} s", std::floor(seconds));
  if (seconds < 2 * kHour) return fmt::format("{} min", std::floor(seconds / kMinute));
  if (seconds < 2 * kDay) return fmt::format("{} h", std::floor(seconds / kHour));
  return fmt::format("{} d", std::floor(seconds / kDay));
}

void add(std::vector<Diagnosis>& found, Problem problem, std::string what, std::vector<Words> mend,
         std::string why) {
  const ProblemKind& kind = kind_of(problem);
  found.push_back({.problem = problem,
                   .what = what.empty() ? std::string(kind.what) : std::move(what),
                   .why = why.empty() ? std::string(kind.why) : std::move(why),
                   .mend = std::move(mend)});
}

}  // namespace treaty::bridge
