#include "treaty/bridge/lookup.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/questions.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

// In a directory that others may write to, a request may be theirs.
bool is_own_file(const std::string& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

fs::path canonical_of(const fs::path& path) {
  std::error_code failed;
  fs::path resolved = fs::canonical(path, failed);
  return failed ? fs::path() : resolved;
}

// Directories that are there, each once, without the starting point.
class PlaceList {
 public:
  explicit PlaceList(fs::path here) : here_(std::move(here)) {}

  void add(const fs::path& place) {
    const fs::path resolved = canonical_of(place);
    if (resolved.empty() || resolved == here_) return;
    std::string text = resolved.string();
    if (std::ranges::find(places_, text) == places_.end()) places_.push_back(std::move(text));
  }

  std::vector<std::string> take() { return std::move(places_); }

 private:
  fs::path here_;
  std::vector<std::string> places_{};
};

void add_state_directories(const StartingPoint& start, PlaceList& places) {
  const fs::path here = start.here;
  if (!start.agentecflow_home.empty()) places.add(here / start.agentecflow_home / "state");
  if (!start.home.empty()) places.add(here / start.home / ".agentecflow" / "state");
}

void add_directories_above(const StartingPoint& start, PlaceList& places) {
  const fs::path home = start.home.empty() ? fs::path() : canonical_of(start.home);
  for (fs::path place = start.here; place != home && place.has_relative_path();) {
    std::error_code ignored;
    if (fs::exists(place / ".git", ignored)) break;
    place = place.parent_path();
    places.add(place);
  }
}

// The same places, for what is done already: that of the project comes before that of anybody.
std::vector<std::string> nearest_places(const StartingPoint& start) {
  PlaceList places(start.here);
  add_directories_above(start, places);
  add_state_directories(start, places);
  return places.take();
}

bool has_journal(const std::string& directory) { return is_own_file(journal_path(directory)); }

}  // namespace

std::vector<std::string> places_of_requests(const StartingPoint& start) {
  PlaceList places(start.here);
  add_state_directories(start, places);
  add_directories_above(start, places);
  return places.take();
}

bool is_settled(const Exchange& exchange, std::span<const Entry> journal,
                const AnsweredQuestions& answered) {
  const bool has_answer =
      exchange.answer == AnswerState::answered ||
      (exchange.answer == AnswerState::none && was_answered(exchange, answered));
  return has_answer && exchange.is_asked() &&
         was_taken(journal, exchange.request.document->request_id);
}

std::vector<Exchange> unsettled_exchanges(const std::string& directory) {
  const auto journal = read_journal(journal_path(directory));
  const std::vector<Entry> entries = journal ? journal->entries : std::vector<Entry>();
  const AnsweredQuestions answered = answered_requests(entries);
  auto exchanges = read_judged_exchanges(directory, answered);
  if (!exchanges) return {};
  std::erase_if(*exchanges, [&](const Exchange& exchange) {
    return !is_own_file(exchange.request.path) || is_settled(exchange, entries, answered);
  });
  return *std::move(exchanges);
}

bool has_waiting_request(const std::string& directory) {
  return std::ranges::any_of(unsettled_exchanges(directory), &Exchange::waits);
}

std::optional<FoundRequest> find_request(const StartingPoint& start) {
  for (const std::string& place : places_of_requests(start)) {
    if (has_waiting_request(place)) return FoundRequest{place, true};
  }
  for (const std::string& place : nearest_places(start)) {
    if (!unsettled_exchanges(place).empty()) return FoundRequest{place, false};
  }
  return std::nullopt;
}

std::optional<std::string> find_journal(const StartingPoint& start) {
  const auto places = nearest_places(start);
  const auto found = std::ranges::find_if(places, has_journal);
  return found == places.end() ? std::nullopt : std::optional(*found);
}

RequestFiles request_files_in(std::span<const std::string> directories) {
  RequestFiles files;
  for (const std::string& directory : directories) {
    const std::string resolved = canonical_of(directory).string();
    std::error_code ignored;
    for (const std::string& name : names_in(resolved, ignored)) {
      const std::string path = path_in(resolved, name);
      if (suffix_of_request(name) && is_own_file(path)) files[path] = version_of(path);
    }
  }
  return files;
}

std::optional<std::string> place_of_new_request(const RequestFiles& before,
                                                const RequestFiles& after) {
  for (const auto& [path, version] : after) {
    const auto known = before.find(path);
    if (known == before.end() || known->second != version) {
      return fs::path(path).parent_path().string();
    }
  }
  return std::nullopt;
}

}  // namespace treaty::bridge
