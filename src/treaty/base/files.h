// Files as wholes: read up to a limit, or replaced so that nobody ever sees half of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "treaty/base/error.h"

namespace treaty {

// Everything that the file holds, but no more than `limit` + 1 bytes: one more than allowed is
// enough to know.
std::expected<std::string, Error> read_file(const std::string& path, std::size_t limit);

// Opened to be read from its beginning, whatever it is but a directory: a pipe is waited for.
using OpenFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
std::expected<OpenFile, Error> open_to_read(const std::string& path);

// Everything that is left in such a file, but no more than `limit` + 1 bytes.
std::expected<std::string, Error> read_rest(const OpenFile& file, const std::string& path,
                                            std::size_t limit);

enum class Links {
  follow,   // What a symbolic link stands for is replaced;
  replace,  // or the link itself.
};

// Writes a file as a whole or not at all: beside it, flushed to the disk, then renamed over it, and
// the name flushed, too. What a killed process leaves behind is named like the file, with
// kTemporaryMark and six more characters.
std::expected<void, Error> replace_file(const std::string& path, std::string_view bytes,
                                        Links links = Links::follow);

// The same for a file that must not be there yet; ErrorCode::conflict when it is. Of several who
// try at once, one gets it.
std::expected<void, Error> create_file(const std::string& path, std::string_view bytes);

constexpr std::string_view kTemporaryMark = ".treaty-";

// The name of the file that such a leftover was to replace; empty when it is none.
std::string_view name_of_replaced(std::string_view name);

// The names in a directory, sorted: no more than `most`, and those before it failed.
std::vector<std::string> names_in(const std::string& directory, std::error_code& failed,
                                  std::size_t most = SIZE_MAX);

// Writes all of it to an open file; false, with errno, when that fails.
bool write_all(int file, std::string_view bytes);

// A file that the build has put into the program under that name: a function that answers its text.
// Stands outside of namespaces.
#define TREATY_ASSET(name)              \
  extern "C" const char name##_begin[]; \
  extern "C" const char name##_end[];   \
  static std::string_view name() { return {name##_begin, name##_end}; }

// Makes the names in a directory durable.
std::expected<void, Error> flush_directory(const std::string& path);

}  // namespace treaty
