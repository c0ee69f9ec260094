// Files, standard input, globs and directories, as commands take them.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>
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

// Calls `each` with every line that is not blank, without its end, and its number; answers the
// worst of the exit codes that it answers. A line longer than `limit` comes as its first `limit` +
// 1 bytes; the file may be as long as it likes.
using OnLine = std::function<int(std::string line, std::size_t number)>;
std::expected<int, Error> read_each_line(const std::string& path, std::size_t limit,
                                         const OnLine& each);

// The same; a file that cannot be read is told on stderr.
int for_each_line(const std::string& path, std::size_t limit, const OnLine& each);

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
