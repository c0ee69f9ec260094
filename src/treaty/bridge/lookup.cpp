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

bool has_waiting_request(const std::string& directory) {
  const auto exchanges = read_judged_exchanges(directory);
  return exchanges && std::ranges::any_of(*exchanges, [](const Exchange& exchange) {
           return exchange.waits() && is_own_file(exchange.request.path);
         });
}

}  // namespace

std::vector<std::string> places_of_requests(const StartingPoint& start) {
  const fs::path here = start.here;
  std::vector<std::string> places;
  const auto add = [&](const fs::path& place) {
    const fs::path resolved = canonical_of(place);
    if (resolved.empty() || resolved == here) return;
    std::string text = resolved.string();
    if (std::ranges::find(places, text) == places.end()) places.push_back(std::move(text));
  };
  if (!start.agentecflow_home.empty()) add(here / start.agentecflow_home / "state");
  if (!start.home.empty()) add(here / start.home / ".agentecflow" / "state");
  const fs::path home = start.home.empty() ? fs::path() : canonical_of(start.home);
  for (fs::path place = here; place != home && place.has_relative_path();) {
    std::error_code ignored;
    if (fs::exists(place / ".git", ignored)) break;
    place = place.parent_path();
    add(place);
  }
  return places;
}

bool has_request(const std::string& directory) {
  std::error_code ignored;
  return std::ranges::any_of(names_in(directory, ignored), [&](const std::string& name) {
    return suffix_of_request(name) && is_own_file(path_in(directory, name));
  });
}

bool has_journal(const std::string& directory) { return is_own_file(journal_path(directory)); }

std::optional<FoundRequest> find_request(const StartingPoint& start) {
  std::optional<FoundRequest> found;
  for (const std::string& place : places_of_requests(start)) {
    if (!has_request(place)) continue;
    if (has_waiting_request(place)) return FoundRequest{place, true};
    if (!found) found = FoundRequest{place, false};
  }
  return found;
}

std::optional<std::string> find_journal(const StartingPoint& start) {
  const auto places = places_of_requests(start);
  const auto found = std::ranges::find_if(places, has_journal);
  return found == places.end() ? std::nullopt : std::optional(*found);
}

}  // namespace treaty::bridge
