// Notices what appears in directories, as it appears, without a thread and without polling.
//
//   auto watch = bridge::DirectoryWatch::open(bridge::Wanted::requests);
//   watch->add("work");
//   poll(…watch->descriptor()…);
//   for (const bridge::FileNews& file : watch->read().files) look_at(file.directory, file.name);
//
// Threads: one thread at a time may use a watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/base/process/file_descriptor.h"

namespace treaty::bridge {

// Of which files news are wanted; everything else that happens in a directory is passed over.
enum class Wanted { requests, responses };

struct FileNews {
  std::string directory{};  // As it was added.
  std::string name{};       // The file's own.
  bool is_there = true;     // Written, moved or linked there; else removed or moved away.
  bool operator==(const FileNews&) const = default;
};

struct DirectoryNews {
  std::vector<FileNews> files{};    // Each file once, with the last that was heard of it.
  std::vector<std::string> gone{};  // Directories that are removed or moved; forgotten here.
  bool is_incomplete = false;       // More happened than was told: everywhere is to be looked.
};

class DirectoryWatch {
 public:
  static std::expected<DirectoryWatch, Error> open(Wanted wanted);

  // From here on; what lies there already is for the caller to find. A directory that is added
  // twice, if under another path, keeps its first one.
  std::expected<void, Error> add(const std::string& directory);
  void remove(const std::string& directory);

  // Readable when there may be news.
  int descriptor() const { return file_.get(); }

  // What has come since the last time; does not wait.
  DirectoryNews read();

 private:
  DirectoryWatch(Wanted wanted, FileDescriptor file) : wanted_(wanted), file_(std::move(file)) {}

  struct Watch {
    std::optional<std::string> directory{};               // As it was added,
    std::map<std::string, std::string> subdirectories{};  // and those in it that were, by name.
  };
  struct Event {
    int watch = 0;
    std::uint32_t mask = 0;
    std::string name{};
  };
  using Places = std::map<std::pair<int, std::string>, std::size_t>;  // Of what was told already.

  bool is_wanted(std::string_view name) const;
  void watch_from_above(const std::string& directory);
  void take(const Event& event, DirectoryNews& news, Places& places);
  void end(std::string directory, DirectoryNews& news);

  Wanted wanted_;
  FileDescriptor file_;
  std::map<int, Watch> watches_{};  // By the system's number.
};

}  // namespace treaty::bridge
