// Files, standard input, globs and directories, as commands take them.
#pragma once

#include <cstddef>
#include <cstdio>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"

namespace treaty::cli {

// Everything that `path` holds ("-": standard input), but no more than `limit` + 1 bytes: one more
// than allowed is enough to know.
std::expected<std::string, Error> read_input(const std::string& path, std::size_t limit);

// The same; more than `limit` is an error, too.
std::expected<std::string, Error> read_within(const std::string& path, std::size_t limit);

// "PATH: MESSAGE" on stderr; answers kViolated.
int tell_unreadable(const Error& error);

// The lines of a file, one at a time, however long the file is. A line longer than `limit` comes
// as its first `limit` + 1 bytes.
class Lines {
 public:
  static std::expected<Lines, Error> open(const std::string& path, std::size_t limit);

  // Without the line's end. Nothing after the last line, and when reading fails.
  std::optional<std::string> next();

  // Why reading stopped before the end, if it did.
  std::optional<Error> error() const;

 private:
  using File = std::unique_ptr<std::FILE, void (*)(std::FILE*)>;
  Lines(File file, std::string path, std::size_t limit)
      : file_(std::move(file)), path_(std::move(path)), limit_(limit) {}

  File file_;
  std::string path_;
  std::size_t limit_;
};

// Calls `each` with every line that is not blank, and its number; answers the worst of the exit
// codes that it answers. A file that cannot be read is told on stderr.
int for_each_line(const std::string& path, std::size_t limit,
                  const std::function<int(const std::string& line, std::size_t number)>& each);

enum class Expand {
  globs,         // A pattern becomes what it matches.
  directories,   // And a directory the .json files below it,
  ndjson_below,  // or the .ndjson and .jsonl files.
};

// A path for each file that the arguments name, in their order, and an error for each argument that
// names none.
std::vector<std::expected<std::string, Error>> expand_paths(
    const std::vector<std::string>& arguments, Expand how);

}  // namespace treaty::cli
