#include "treaty/bridge/diagnosis/stray_answers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestStray = std::size_t{16} << 20U;
constexpr std::size_t kMostEntries = 4096;  // Of a directory that are looked at.
constexpr std::size_t kMostFiles = 256;     // That are read; each may be as large as an answer.
constexpr int kLevelsUp = 3;                // In which an answer is looked for,
constexpr int kLevelsUpOfRequests = 1;      // which has an id; a request may be of anybody.

// The names in a directory, sorted; nothing when it cannot be read.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code failed;
  auto entry = fs::directory_iterator(directory, failed);
  for (; !failed && entry != fs::directory_iterator() && names.size() < kMostEntries;
       entry.increment(failed)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
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

class Search {
 public:
  Search(std::string directory, std::span<const Exchange> exchanges)
      : directory_(std::move(directory)) {
    for (const Exchange& exchange : exchanges) {
      taken_.insert(identity_of(exchange.response.path));
      if (!exchange.waits()) continue;
      wanted_.insert(exchange.request.document->request_id);
      names_.insert(response_name(exchange.suffix));
      names_.insert(response_name(""));
      names_.insert(fs::path(exchange.response.path).filename().string());
    }
  }

  std::vector<StrayAnswer> run() {
    if (wanted_.empty()) return {};
    const std::vector<std::string> here = names_in(directory_);
    for (const std::string& name : here) {
      if (is_like_an_answer(name)) look_at_file(path_in(directory_, name));
    }
    for (const std::string& place : places_around(directory_, here, kLevelsUp))
      look_for_names(place);
    return std::move(found_);
  }

 private:
  void look_for_names(const std::string& directory) {
    for (const std::string& name : names_) look_at_file(path_in(directory, name));
  }

  void look_at_file(const std::string& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored) || !taken_.insert(identity_of(path)).second) return;
    if (++files_ > kMostFiles) return;
    const auto text = read_file(path, kLargestStray);
    if (!text) return;
    std::string id = answered_id(*text);
    if (wanted_.contains(id)) found_.push_back({path, std::move(id)});
  }

  std::string directory_;
  std::set<std::string> wanted_{};  // Ids of requests that wait,
  std::set<std::string> names_{};   // and how their answers may be called.
  std::set<std::string> taken_{};   // Files that are where they belong, or were looked at.
  std::size_t files_ = 0;           // How many were.
  std::vector<StrayAnswer> found_{};
};

}  // namespace

bool is_like_an_answer(std::string_view file_name) {
  if (suffix_of_request(file_name) || file_name == kFolder) return false;
  std::string name = folded(file_name);
  std::erase_if(name, [](char c) { return !is_alphanumeric(c); });
  return name.contains("response") || name.contains("answer") || name.contains("agentresult");
}

std::string answered_id(std::string_view text) {
  const json::Document document(text);
  const auto root = document.root();
  // A request has an id as well, but neither a status nor an answer.
  const bool is_answer = json::find_member(root, "status").has_value() ||
                         json::find_member(root, "response").has_value() ||
                         json::find_member(root, "result").has_value();
  return is_answer ? std::string(json::find_text(root, "request_id")) : std::string();
}

std::vector<StrayAnswer> find_stray_answers(const std::string& directory,
                                            std::span<const Exchange> exchanges) {
  return Search(without_link(directory), exchanges).run();
}

std::vector<std::string> find_stray_requests(const std::string& directory) {
  const std::string here = without_link(directory);
  std::vector<std::string> found;
  std::set<std::string> seen = {identity_of(here)};
  for (const std::string& place : places_around(here, names_in(here), kLevelsUpOfRequests)) {
    if (!seen.insert(identity_of(place)).second) continue;
    for (const std::string& name : names_in(place)) {
      if (suffix_of_request(name)) found.push_back(path_in(place, name));
    }
  }
  return found;
}

}  // namespace treaty::bridge
