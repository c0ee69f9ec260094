#include "treaty/bridge/diagnosis/view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/lookup.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/run_state.h"
#include "treaty/contracts/text/handwritten_json.h"

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

// Access to a directory that treaty makes itself, where a link is not followed.
DirectoryAccess access_to_folder(const std::string& folder) {
  std::error_code ignored;
  const bool is_link = fs::is_symlink(fs::symlink_status(folder, ignored));
  return is_link ? DirectoryAccess::link : access_to(folder);
}

std::optional<Space> space_in(const std::string& directory) {
  struct statvfs status{};
  if (statvfs(directory.c_str(), &status) != 0) return std::nullopt;
  // Some file systems count no files at all.
  const bool counts_files = status.f_files != 0;
  return Space{.bytes = std::uint64_t{status.f_bavail} * status.f_frsize,
               .files = counts_files ? std::uint64_t{status.f_favail} : UINT64_MAX};
}

void find_leftovers(DirectoryView& view) {
  std::error_code ignored;
  for (const std::string& name : names_in(view.directory, ignored)) {
    const auto written = name_of_replaced(name);
    if (suffix_of_response(written) || suffix_of_request(written)) {
      view.leftovers.push_back(path_in(view.directory, name));
    }
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

constexpr std::string_view kBackupEnds[] = {"old", "torn"};

std::string numbered_backup(const std::string& path, int number, std::string_view end) {
  return number == 1 ? fmt::format("{}.{}", path, end) : fmt::format("{}.{}.{}", path, number, end);
}

void find_backups(DirectoryView& view) {
  std::vector<std::string> paths = {view.directory, path_in(view.directory, kFolder),
                                    quarantine_path(view.directory)};
  for (const Exchange& exchange : view.exchanges) {
    paths.push_back(exchange.request.path);
    paths.push_back(exchange.response.path);
  }
  const auto is_there = [](const std::string& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
  };
  for (const std::string& path : paths) {
    for (const std::string_view end : kBackupEnds) {
      for (int number = 1; is_there(numbered_backup(path, number, end)); ++number) {
        view.backups.push_back(numbered_backup(path, number, end));
      }
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
  const auto program = replay_run(view.journal.entries).program;
  view.program_runs = program && is_running(*program);
}

constexpr std::size_t kLargestStray = std::size_t{16} << 20U;
constexpr std::size_t kMostEntries = 4096;  // Of a directory that are looked at.
constexpr std::size_t kMostFiles = 256;     // That are read; each may be as large as an answer.
constexpr int kLevelsUp = 3;                // In which an answer is looked for,
constexpr int kLevelsUpOfRequests = 1;      // which has an id; a request may be of anybody.

std::vector<std::string> some_names_in(const std::string& directory) {
  std::error_code ignored;
  return names_in(directory, ignored, kMostEntries);
}

// Around a link nobody stands, but around what it stands for.
std::string without_link(const std::string& directory) {
  std::error_code ignored;
  if (!fs::is_symlink(directory, ignored)) return directory;
  return fs::canonical(directory, ignored).string();
}

// Where somebody may have written who stood elsewhere: above, right below, and where we stand.
std::vector<std::string> places_around(const std::string& directory,
                                       const std::vector<std::string>& names, int levels_up) {
  std::vector<std::string> places;
  std::string above = directory;
  for (int level = 0; level < levels_up; ++level) {
    const fs::path up = (fs::path(without_link(above)) / "..").lexically_normal();
    above = (up.has_filename() ? up : up.parent_path()).string();  // Without a slash at its end.
    places.push_back(above);
  }
  for (const std::string& name : names) {
    std::string below = path_in(directory, name);
    std::error_code ignored;
    if (name != kFolder && fs::is_directory(below, ignored)) places.push_back(std::move(below));
  }
  places.emplace_back(".");
  return places;
}

// However it is named.
std::string identity_of(const std::string& path) {
  std::error_code failed;
  const fs::path resolved = fs::weakly_canonical(path, failed);
  return failed ? path : resolved.string();
}

// Where the last run saw the request of its program appear; empty when it saw none.
std::string place_of_last_request(std::span<const Entry> journal) {
  const auto end = std::ranges::find(journal.rbegin(), journal.rend(), "run.ended", &Entry::event);
  return end == journal.rend() ? std::string() : text_in(*end, kRequestIn);
}

class Search {
 public:
  Search(std::string directory, std::span<const Exchange> exchanges,
         const AnsweredQuestions& answered)
      : directory_(std::move(directory)), answered_(answered) {
    for (const Exchange& exchange : exchanges) {
      taken_.insert(identity_of(exchange.response.path));
      if (!exchange.waits()) continue;
      wanted_.emplace(exchange.request.document->request_id, &exchange);
      names_.insert(response_name(exchange.suffix));
      names_.insert(response_name(""));
      names_.insert(fs::path(exchange.response.path).filename().string());
    }
  }

  std::vector<StrayAnswer> run() {
    if (wanted_.empty()) return {};
    const std::vector<std::string> here = some_names_in(directory_);
    for (const std::string& name : here) {
      if (is_like_an_answer(name)) look_at_file(path_in(directory_, name));
    }
    for (const std::string& place : places_around(directory_, here, kLevelsUp))
      look_for_names(place);
    return std::move(found_);
  }

 private:
  // An answer beside its own request, or in a directory that treaty has answered in, belongs there.
  void look_for_names(const std::string& directory) {
    if (is_there(path_in(directory, kFolder))) return;
    for (const std::string& name : names_) {
      const auto suffix = suffix_of_response(name);
      if (suffix && is_there(path_in(directory, request_name(*suffix)))) continue;
      look_at_file(path_in(directory, name));
    }
  }

  static bool is_there(const std::string& path) {
    struct stat status{};
    return lstat(path.c_str(), &status) == 0;
  }

  void look_at_file(const std::string& path) {
    struct stat status{};
    const bool is_own =
        lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (!is_own || !taken_.insert(identity_of(path)).second) return;
    if (++files_ > kMostFiles) return;
    const auto text = read_file(path, kLargestStray);
    if (!text) return;
    const std::string id = answered_id(*text);
    const auto wanted = std::ranges::find_if(
        wanted_, [&](const auto& entry) { return contracts::is_same_request_id(entry.first, id); });
    if (wanted != wanted_.end() && !is_stale(*text, *wanted->second)) {
      found_.push_back({path, wanted->first});
    }
  }

  bool is_stale(const std::string& text, const Exchange& wanted) const {
    auto decoded = contracts::decode_bridge_response(text);
    if (!decoded) return false;
    Exchange found{.suffix = wanted.suffix,
                   .request = wanted.request,
                   .response = {.state = FileState::whole, .document = std::move(*decoded)}};
    found.answer = judge(found.request, found.response);
    return judge_answer(found, answered_) == AnswerState::stale;
  }

  std::string directory_;
  const AnsweredQuestions& answered_;
  std::map<std::string, const Exchange*> wanted_{};  // Requests that wait, by their id,
  std::set<std::string> names_{};                    // and how their answers may be called.
  std::set<std::string> taken_{};  // Files that are where they belong, or were looked at.
  std::size_t files_ = 0;          // How many were.
  std::vector<StrayAnswer> found_{};
};

}  // namespace

bool DirectoryView::has_request() const {
  return std::ranges::any_of(exchanges, [](const Exchange& exchange) {
    return exchange.request.state != FileState::absent;
  });
}

bool is_below(const DirectoryView& view, const std::string& path) {
  const fs::path here(view.here);
  const auto way = (here / path)
                       .lexically_normal()
                       .lexically_relative((here / view.directory / "").lexically_normal());
  return !way.empty() && way != "." && *way.begin() != "..";
}

std::string backup_path(const DirectoryView& view, const std::string& path, std::string_view end) {
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(view.backups, name) != view.backups.end();
  };
  int number = 1;
  while (is_taken(numbered_backup(path, number, end))) ++number;
  return numbered_backup(path, number, end);
}

bool is_like_an_answer(std::string_view file_name) {
  if (suffix_of_request(file_name) || file_name == kFolder) return false;
  std::string name = folded(file_name);
  std::erase_if(name, [](char c) { return !is_alphanumeric(c); });
  return name.contains("response") || name.contains("answer") || name.contains("agentresult");
}

std::string answered_id(std::string_view text) {
  const std::string json = contracts::rewrite_as_json(text).text;
  const json::Document document(json);
  const auto root = document.root();
  // A request has an id as well, but neither a status nor an answer.
  const bool is_answer = json::find_member(root, "status").has_value() ||
                         json::find_member(root, "response").has_value() ||
                         json::find_member(root, "result").has_value();
  return is_answer ? std::string(json::find_text(root, "request_id")) : std::string();
}

std::vector<StrayAnswer> find_stray_answers(const std::string& directory,
                                            std::span<const Exchange> exchanges,
                                            const AnsweredQuestions& answered) {
  return Search(without_link(directory), exchanges, answered).run();
}

std::vector<std::string> places_nearby(const std::string& directory) {
  const std::string here = without_link(directory);
  std::vector<std::string> places = places_around(here, some_names_in(here), kLevelsUpOfRequests);
  std::set<std::string> seen = {identity_of(here)};
  std::erase_if(places,
                [&](const std::string& place) { return !seen.insert(identity_of(place)).second; });
  return places;
}

std::vector<std::string> find_stray_requests(const std::string& directory) {
  std::vector<std::string> found;
  for (const std::string& place : places_nearby(directory)) {
    const std::vector<std::string> names = some_names_in(place);
    const bool has_request = std::ranges::any_of(
        names, [](const std::string& name) { return suffix_of_request(name).has_value(); });
    if (!has_request) continue;
    for (const Exchange& exchange : unsettled_exchanges(place)) {
      found.push_back(exchange.request.path);
    }
  }
  return found;
}

DirectoryView look_at(const std::string& directory) {
  std::error_code ignored;
  DirectoryView view{.directory = directory,
                     .here = std::filesystem::current_path(ignored).string(),
                     .presence = presence_of(directory),
                     .now = seconds_of_timestamp(timestamp_now()).value_or(0)};
  if (view.presence != Presence::there) return view;
  view.access = access_to(directory);
  read_the_journal(view);
  const auto answered = answered_requests(view.journal.entries);
  auto exchanges = read_judged_exchanges(directory, answered);
  if (!exchanges) {
    view.presence = Presence::unreadable;
    return view;
  }
  view.exchanges = *std::move(exchanges);
  view.folder_access = access_to_folder(path_in(directory, kFolder));
  view.quarantine_access = access_to_folder(quarantine_path(directory));
  view.space = space_in(directory);
  view.lock = look_at_lock(lock_path(directory));
  find_leftovers(view);
  find_missing_places(view);
  find_backups(view);
  view.quarantined = names_in(quarantine_path(directory), ignored).size();
  view.strays = find_stray_answers(directory, view.exchanges, answered);
  if (!view.has_request()) {
    view.stray_requests = find_stray_requests(directory);
    std::string asked_in = place_of_last_request(view.journal.entries);
    if (!asked_in.empty() && has_waiting_request(asked_in)) view.asked_in = std::move(asked_in);
  }
  return view;
}

}  // namespace treaty::bridge
