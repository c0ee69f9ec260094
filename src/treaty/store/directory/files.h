// Files of a store in a directory: a lock between processes, files that take their places together,
// and logs whose torn ends are cut off.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/base/process/file_descriptor.h"
#include "treaty/store/records.h"

namespace treaty::store::directory {

// What has just failed with that file, for the operator: errno in words.
Error failure_of(const std::string& path);

// A file of base/files.h that could not be read or written.
Error failure_of(const Error& error);

// While it lives, no other process and no other thread of this one has the lock of that file.
class FileLock {
 public:
  static std::expected<FileLock, Error> take(const std::string& path);

 private:
  explicit FileLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

// A file beside its place, on the disk already; gone with this unless it has taken its place.
class TemporaryFile {
 public:
  static std::expected<TemporaryFile, Error> write(std::string path, std::string_view bytes,
                                                   std::optional<Milliseconds> modified = {});
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) = delete;
  ~TemporaryFile();

  // The name is durable when the directory has been flushed.
  std::expected<void, Error> move_into_place();

 private:
  TemporaryFile(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  std::string path_;
  std::string temporary_;  // Empty: it is none any more.
};

// A new or replaced file, durable.
std::expected<void, Error> save_file(const std::string& path, std::string_view bytes);

// All of a file; nothing when there is none.
std::expected<std::optional<std::string>, Error> load_file(const std::string& path);

// Without it, or durably gone.
std::expected<void, Error> remove_file(const std::string& path);

// The names in a directory become durable.
std::expected<void, Error> flush_names(const std::string& path);

// The directory, for nobody but us, and those that are missing above it.
std::expected<void, Error> make_directory(const std::string& path);

// Names in a directory, sorted; those of drafts are left out. None when it is not there.
std::vector<std::string> names_in(const std::string& path);

// A file of whole lines. What a crash has left behind the last line break is no line.
struct LogEnd {
  std::uint64_t before = 0;  // Its size without that,
  std::uint64_t after = 0;   // and with what was appended.
};

// Durable, or as before.
std::expected<LogEnd, Error> append_lines(const std::string& path, std::string_view lines);
std::expected<void, Error> cut_log(const std::string& path, std::uint64_t size);

// From `offset` on, each without its line break. Empty when there is no file.
struct LogLines {
  std::vector<std::string> lines{};
  std::uint64_t end = 0;  // Of the last line; before `offset` when the file has become shorter.
};
std::expected<LogLines, Error> read_lines(const std::string& path, std::uint64_t offset = 0);

// A name for any text.
std::string file_name_of(std::string_view text);

}  // namespace treaty::store::directory
