#include "treaty/bridge/diagnosis/view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/memory.h"
#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

Presence presence_of(const std::string& directory) {
  struct stat status{};
  if (stat(directory.c_str(), &status) != 0) {
    return errno == EACCES ? Presence::unreadable : Presence::missing;
  }
  return S_ISDIR(status.st_mode) ? Presence::there : Presence::not_a_directory;
}

DirectoryAccess access_to(const std::string& directory) {
  struct stat status{};
  if (stat(directory.c_str(), &status) != 0)
    return DirectoryAccess::good;  // Nothing is in the way.
  if (!S_ISDIR(status.st_mode)) return DirectoryAccess::not_a_directory;
  if (faccessat(AT_FDCWD, directory.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0) {
    return DirectoryAccess::good;
  }
  if (errno == EROFS) return DirectoryAccess::read_only_disk;
  return status.st_uid == geteuid() ? DirectoryAccess::denied : DirectoryAccess::others;
}

std::optional<Space> space_in(const std::string& directory) {
  struct statvfs status{};
  if (statvfs(directory.c_str(), &status) != 0) return std::nullopt;
  // Some file systems count no files at all.
  const bool counts_files = status.f_files != 0;
  return Space{.bytes = std::uint64_t{status.f_bavail} * status.f_frsize,
               .files = counts_files ? std::uint64_t{status.f_favail} : UINT64_MAX};
}

bool is_leftover(const std::string& name) {
  const auto written = name_of_replaced(name);
  return suffix_of_response(written) || suffix_of_request(written);
}

std::size_t count_files(const std::string& directory) {
  std::size_t count = 0;
  std::error_code failed;
  auto entry = fs::directory_iterator(directory, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) ++count;
  return count;
}

void find_leftovers(DirectoryView& view) {
  std::error_code failed;
  auto entry = fs::directory_iterator(view.directory, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    std::string name = entry->path().filename().string();
    if (is_leftover(name)) view.leftovers.push_back(path_in(view.directory, name));
  }
}

void find_missing_places(DirectoryView& view) {
  for (const Exchange& exchange : view.exchanges) {
    const fs::path place = fs::path(exchange.response.path).parent_path();
    std::error_code failed;
    if (!place.empty() && !fs::exists(place, failed) && !failed) {
      view.missing_places.push_back(place.string());
    }
  }
}

void read_the_journal(DirectoryView& view) {
  auto journal = read_journal(journal_path(view.directory));
  if (!journal) {
    view.journal_problem = journal.error().message;
    return;
  }
  view.journal = *std::move(journal);
  const auto program = remember_run(view.journal.entries).program;
  view.program_runs = program && is_running(*program);
}

}  // namespace

DirectoryView look_at(const std::string& directory) {
  std::error_code ignored;
  DirectoryView view{.directory = directory,
                     .here = std::filesystem::current_path(ignored).string(),
                     .presence = presence_of(directory),
                     .now = seconds_of_timestamp(timestamp_now()).value_or(0)};
  if (view.presence != Presence::there) return view;
  view.access = access_to(directory);
  auto exchanges = read_exchanges(directory);
  if (!exchanges) {
    view.presence = Presence::unreadable;
    return view;
  }
  view.exchanges = *std::move(exchanges);
  view.folder_access = access_to(path_in(directory, kFolder));
  view.space = space_in(directory);
  view.lock = look_at_lock(lock_path(directory));
  read_the_journal(view);
  find_leftovers(view);
  find_missing_places(view);
  view.quarantined = count_files(quarantine_path(directory));
  view.strays = find_stray_answers(directory, view.exchanges);
  const bool is_asked = std::ranges::any_of(view.exchanges, [](const Exchange& exchange) {
    return exchange.request.state != FileState::absent;
  });
  if (!is_asked) view.stray_requests = find_stray_requests(directory);
  return view;
}

}  // namespace treaty::bridge
