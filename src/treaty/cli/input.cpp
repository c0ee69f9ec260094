#include "treaty/cli/input.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "treaty/base/files.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

namespace fs = std::filesystem;

int keep_open(std::FILE* /*file*/) { return 0; }

std::expected<OpenFile, Error> open_input(const std::string& path) {
  if (path == "-") return OpenFile(stdin, keep_open);
  return open_to_read(path);
}

// Nothing after the last line, and when reading fails.
std::optional<std::string> next_line(std::FILE* file, std::size_t limit) {
  std::string line;
  bool any = false;
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) {
    any = true;
    if (c == '\n') return line;
    if (line.size() <= limit) line.push_back(static_cast<char>(c));
  }
  if (!any) return std::nullopt;
  return line;
}

using Expansion = std::vector<std::expected<std::string, Error>>;

bool is_wanted(const fs::path& path, Expand how) {
  const fs::path extension = path.extension();
  if (how == Expand::ndjson_below) return extension == ".ndjson" || extension == ".jsonl";
  return extension == ".json";
}

void collect(const fs::path& directory, Expand how, Expansion& found) {
  std::error_code failed;
  std::vector<fs::directory_entry> entries;
  auto entry = fs::directory_iterator(directory, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    entries.push_back(*entry);
  }
  if (failed) {
    found.push_back(fail(ErrorCode::unreadable, fmt::format("cannot be read: {}", failed.message()),
                         directory.string()));
  }
  std::ranges::sort(entries, {}, [](const auto& one) { return one.path().string(); });
  for (const fs::directory_entry& one : entries) {
    std::error_code ignored;
    const bool link = one.is_symlink(ignored);
    if (!link && one.is_directory(ignored)) {
      collect(one.path(), how, found);
    } else if (is_wanted(one.path(), how) && (link || one.is_regular_file(ignored))) {
      found.emplace_back(one.path().string());  // A link that leads nowhere is told when read.
    }
  }
}

void expand_directory(const std::string& directory, Expand how, Expansion& expansion) {
  Expansion found;
  collect(directory, how, found);
  if (found.empty()) {
    found.push_back(fail(ErrorCode::unreadable,
                         how == Expand::ndjson_below ? "has no .ndjson or .jsonl files in it"
                                                     : "has no .json files in it",
                         directory));
  }
  std::ranges::move(found, std::back_inserter(expansion));
}

void expand_path(const std::string& path, Expand how, Expansion& expansion) {
  std::error_code ignored;
  if (how != Expand::globs && fs::is_directory(path, ignored)) {
    expand_directory(path, how, expansion);
  } else {
    expansion.emplace_back(path);
  }
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t matches{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
  return paths;
}

}  // namespace

std::expected<std::string, Error> read_input(const std::string& path, std::size_t limit) {
  TREATY_TRY(const OpenFile file, open_input(path));
  return read_rest(file, path, limit);
}

std::expected<std::string, Error> read_within(const std::string& path, std::size_t limit) {
  auto bytes = read_input(path, limit);
  if (!bytes || bytes->size() <= limit) return bytes;
  const bool in_gibibytes = limit >= std::size_t{1} << 30U;
  return fail(ErrorCode::not_a_document,
              fmt::format("is larger than {} {}", limit >> (in_gibibytes ? 30U : 20U),
                          in_gibibytes ? "GiB" : "MiB"),
              path);
}

int tell_unreadable(const Error& error) {
  print_error("{}\n", text_of(error));
  return kViolated;
}

std::expected<int, Error> read_each_line(const std::string& path, std::size_t limit,
                                         const OnLine& each) {
  TREATY_TRY(const OpenFile file, open_input(path));
  int code = kOk;
  for (std::size_t number = 1;; ++number) {
    auto line = next_line(file.get(), limit);
    if (!line) break;
    if (!is_blank(*line)) code = std::max(code, each(*std::move(line), number));
  }
  if (std::ferror(file.get()) == 0) return code;
  return fail(ErrorCode::unreadable, "cannot be read to its end", path);
}

int for_each_line(const std::string& path, std::size_t limit, const OnLine& each) {
  const auto code = read_each_line(path, limit, each);
  return code ? *code : tell_unreadable(code.error());
}

std::vector<std::expected<std::string, Error>> expand_paths(
    const std::vector<std::string>& arguments, Expand how) {
  Expansion expansion;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    const bool pattern = argument.find_first_of("*?[") != std::string::npos;
    if (!pattern || fs::exists(argument, ignored)) {
      expand_path(argument, how, expansion);
      continue;
    }
    const std::vector<std::string> matches = matches_of(argument);
    for (const std::string& match : matches) expand_path(match, how, expansion);
    if (matches.empty()) {
      expansion.push_back(fail(ErrorCode::unreadable, "matches no file", argument));
    }
  }
  return expansion;
}

}  // namespace treaty::cli
