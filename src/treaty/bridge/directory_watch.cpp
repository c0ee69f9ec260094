#include "treaty/bridge/directory_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

// A name that is linked, not written, is told by its creation alone; a file whose rights change may
// be readable from then on.
constexpr std::uint32_t kAppears = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ATTRIB;
constexpr std::uint32_t kDisappears = IN_DELETE | IN_MOVED_FROM;
constexpr std::uint32_t kEnds = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;
constexpr std::uint32_t kHow = IN_ONLYDIR | IN_EXCL_UNLINK | IN_MASK_ADD;
constexpr std::uint32_t kAsked = kHow | kAppears | kDisappears | IN_DELETE_SELF | IN_MOVE_SELF;

constexpr std::size_t kRoom = std::size_t{64} << 10U;
constexpr int kMostReads =
    16;  // At once: whoever floods us must not keep the caller from the rest.

// The system's own limits have names of their own that a person has to know.
std::string_view remedy(int code) {
  if (code == ENOSPC) return " (raise fs.inotify.max_user_watches)";
  if (code == EMFILE) return " (raise fs.inotify.max_user_instances, or ulimit -n)";
  return "";
}

Error failure(const std::string& where) {
  const int code = errno;
  const ErrorCode kind = remedy(code).empty() ? ErrorCode::unreadable : ErrorCode::unavailable;
  return {kind, fmt::format("cannot be watched: {}{}", std::strerror(code), remedy(code)), where};
}

}  // namespace

std::expected<DirectoryWatch, Error> DirectoryWatch::open(Wanted wanted) {
  FileDescriptor file(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!file) return std::unexpected(failure(""));
  return DirectoryWatch(wanted, std::move(file));
}

std::expected<void, Error> DirectoryWatch::add(const std::string& directory) {
  const int number = inotify_add_watch(file_.get(), directory.c_str(), kAsked);
  if (number < 0) return std::unexpected(failure(directory));
  Watch& watch = watches_[number];
  if (watch.directory) return {};
  watch.directory = directory;
  watch_from_above(directory);
  return {};
}

// A directory is told of its own end only when nobody has anything open below it, such as a lock.
// What cannot be read above it is done without.
void DirectoryWatch::watch_from_above(const std::string& directory) {
  std::error_code failed;
  const fs::path place = fs::canonical(directory, failed);
  if (failed || !place.has_filename()) return;
  const int above = inotify_add_watch(file_.get(), place.parent_path().c_str(), kHow | kDisappears);
  if (above >= 0) watches_[above].subdirectories[place.filename().string()] = directory;
}

void DirectoryWatch::remove(const std::string& directory) {
  for (auto entry = watches_.begin(); entry != watches_.end();) {
    auto& [number, watch] = *entry;
    if (watch.directory == directory) watch.directory.reset();
    std::erase_if(watch.subdirectories, [&](const auto& one) { return one.second == directory; });
    const bool is_needed = watch.directory || !watch.subdirectories.empty();
    if (!is_needed) inotify_rm_watch(file_.get(), number);
    entry = is_needed ? std::next(entry) : watches_.erase(entry);
  }
}

bool DirectoryWatch::is_wanted(std::string_view name) const {
  return (wanted_ == Wanted::requests ? suffix_of_request(name) : suffix_of_response(name))
      .has_value();
}

void DirectoryWatch::take(const Event& event, DirectoryNews& news, Places& places) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) news.is_incomplete = true;
  const auto found = watches_.find(event.watch);
  if (found == watches_.end()) return;
  const Watch& watch = found->second;
  if ((event.mask & kEnds) != 0) {
    if (watch.directory) end(*watch.directory, news);
    return;
  }
  if ((event.mask & kDisappears) != 0) {
    const auto below = watch.subdirectories.find(event.name);
    if (below != watch.subdirectories.end()) return end(below->second, news);
  }
  if (!watch.directory || !is_wanted(event.name)) return;
  const auto [place, is_new] = places.try_emplace({event.watch, event.name}, news.files.size());
  if (is_new) news.files.push_back({*watch.directory, event.name});
  news.files[place->second].is_there = (event.mask & kAppears) != 0;
}

void DirectoryWatch::end(std::string directory, DirectoryNews& news) {
  remove(directory);
  news.gone.push_back(std::move(directory));
}

DirectoryNews DirectoryWatch::read() {
  DirectoryNews news;
  Places places;
  alignas(inotify_event) std::array<char, kRoom> room;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t size = ::read(file_.get(), room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event head{};
      std::memcpy(&head, room.data() + at, sizeof(head));
      const char* name = room.data() + at + sizeof(head);
      take({head.wd, head.mask, head.len > 0 ? name : ""}, news, places);
      at += sizeof(head) + head.len;
    }
  }
  return news;
}

}  // namespace treaty::bridge
