#include "treaty/bridge/diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

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
      found.push_back(make_diagnosis(Ailment::directory_missing,
                                     fmt::format("there is no directory {}", directory), {},
                                     {{"mkdir", "-p", directory}}));
      break;
    case Presence::not_a_directory:
      found.push_back(
          make_diagnosis(Ailment::not_a_directory, fmt::format("{} is a file", directory), {},
                         {bridge_command({.directory = parent_of(directory)}, "doctor")}));
      break;
    case Presence::unreadable:
      found.push_back(make_diagnosis(Ailment::directory_unreadable,
                                     fmt::format("{} cannot be read", directory), {},
                                     {{"chmod", "u+rwx", directory}}));
      break;
  }
}

void look_at_access(const std::string& directory, DirectoryAccess access, Ailment ailment,
                    std::vector<Diagnosis>& found) {
  const std::string what = fmt::format("{} cannot be written to", directory);
  switch (access) {
    case DirectoryAccess::good: break;
    case DirectoryAccess::denied:
      found.push_back(make_diagnosis(ailment, what, {}, {{"chmod", "u+rwx", directory}}));
      break;
    case DirectoryAccess::others:
      found.push_back(make_diagnosis(ailment, what + ": it belongs to another user", {},
                                     {{"ls", "-ld", directory}}));
      break;
    case DirectoryAccess::read_only_disk:
      found.push_back(make_diagnosis(ailment, what + ": its file system is read-only", {},
                                     {{"findmnt", "-T", directory}}));
      break;
    case DirectoryAccess::not_a_directory:
      found.push_back(make_diagnosis(ailment, fmt::format("{} is no directory", directory), {},
                                     {{"mv", directory, directory + ".old"}}));
      break;
  }
}

void look_at_space(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (!view.space) return;
  const bool no_bytes = view.space->bytes < kLeastSpace;
  if (!no_bytes && view.space->files > 0) return;
  found.push_back(make_diagnosis(
      Ailment::disk_full,
      no_bytes ? fmt::format("the disk is full: {} bytes are free", view.space->bytes)
               : "the disk is full: it can hold no more files",
      {}, {{"df", no_bytes ? "-h" : "-i", view.directory}}));
}

void look_at_holder(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (view.lock.state == LockState::held) {
    found.push_back(
        make_diagnosis(Ailment::driver_at_work,
                       fmt::format("{} drives this directory", text_of(view.lock.holder))));
  } else if (view.lock.state == LockState::dead) {
    found.push_back(make_diagnosis(
        Ailment::lock_dead, fmt::format("{} had the lock and is gone", text_of(view.lock.holder))));
  }
}

void look_elsewhere(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (view.stray_requests.empty()) return;
  const std::string& nearest = view.stray_requests.front();
  found.push_back(make_diagnosis(Ailment::request_elsewhere,
                                 fmt::format("nothing is asked here, but in {}", nearest), {},
                                 {bridge_command({.directory = parent_of(nearest)}, "doctor")}));
}

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void look_at_files(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (!view.journal_problem.empty()) {
    const std::string path = journal_path(view.directory);
    found.push_back(make_diagnosis(Ailment::journal_unreadable,
                                   fmt::format("{} {}", path, view.journal_problem), {},
                                   {{"chmod", "u+rw", path}}));
  }
  if (view.journal.damaged_lines > 0) {
    found.push_back(make_diagnosis(
        Ailment::journal_damaged,
        fmt::format("the journal has {}", counted(view.journal.damaged_lines, "damaged line")), {},
        {bridge_command(view, "log")}));
  }
  if (!view.leftovers.empty() && view.lock.state != LockState::held) {
    found.push_back(make_diagnosis(Ailment::leftovers,
                                   fmt::format("{} of writers that were killed: {}",
                                               counted(view.leftovers.size(), "unfinished file"),
                                               fmt::join(view.leftovers, ", ")),
                                   {}, {bridge_command(view, "check", {"--fix"})}));
  }
  if (view.quarantined > 0) {
    found.push_back(
        make_diagnosis(Ailment::quarantined,
                       fmt::format("{} in the quarantine", counted(view.quarantined, "file")), {},
                       {{"ls", "-l", quarantine_path(view.directory)}}));
  }
}

}  // namespace

std::vector<Diagnosis> diagnose(const DirectoryView& view) {
  std::vector<Diagnosis> found;
  look_at_presence(view, found);
  if (!found.empty()) return found;
  look_at_access(view.directory, view.access, Ailment::directory_unwritable, found);
  look_at_access(path_in(view.directory, kFolder), view.folder_access, Ailment::folder_unwritable,
                 found);
  look_at_space(view, found);
  diagnose_exchanges(view, found);
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

DirectoryStatus status_of(const DirectoryView& view) {
  if (view.presence != Presence::there) return DirectoryStatus::unusable;
  if (view.lock.state == LockState::held) return DirectoryStatus::driven;
  const auto any = [&](const auto& test) { return std::ranges::any_of(view.exchanges, test); };
  const auto was_asked = [](const Exchange& one) { return one.request.state != FileState::absent; };
  const auto is_taken = [&](const Exchange& one) {
    return was_taken(view, one.request.document->request_id);
  };
  if (any([&](const Exchange& one) { return was_asked(one) && !one.is_asked(); })) {
    return DirectoryStatus::unreadable;
  }
  const RunMemory run = remember_run(view.journal.entries);
  const bool is_open = run.stage != Stage::none;
  if (any([&](const Exchange& one) {
        return one.waits() && (is_open || !was_answered_before(view, one) || !is_taken(one));
      })) {
    return DirectoryStatus::waiting;
  }
  if (any([&](const Exchange& one) { return one.is_asked() && !one.waits() && !is_taken(one); })) {
    return DirectoryStatus::answered;
  }
  if (is_open) return DirectoryStatus::interrupted;
  return any(was_asked) ? DirectoryStatus::settled : DirectoryStatus::idle;
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
    case DirectoryStatus::unreadable: return "what is asked here cannot be read";
    case DirectoryStatus::waiting: {
      const auto count = std::ranges::count_if(view.exchanges, &Exchange::waits);
      return count == 1 ? "waits for an agent" : fmt::format("waits for {} answers", count);
    }
    case DirectoryStatus::answered: return "answered; run the program with --resume";
    case DirectoryStatus::interrupted: return "a run was interrupted and can go on";
    case DirectoryStatus::settled: return "everything is answered, and the program has gone on";
    case DirectoryStatus::idle: return "nothing is asked here";
  }
  return {};
}

}  // namespace treaty::bridge
