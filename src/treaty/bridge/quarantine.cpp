#include "treaty/bridge/quarantine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "treaty/base/files.h"
#include "treaty/base/ids.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestCopy = std::size_t{64} << 20U;

// Of a file's name is kept, from its end: time, reason and the rest have to fit beside it, and what
// is added while it is written.
constexpr std::size_t kLongestName = 160;

// "20261116T093619.250-stale-0b8de6c2.agent-response.json": sorts by time, and cannot be taken for
// an answer.
std::string kept_name(const std::string& path, std::string_view reason) {
  std::string time = timestamp_now().substr(0, 23);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::string name = fs::path(path).filename().string();
  if (!name.starts_with('.')) name.insert(0, 1, '.');
  if (name.size() > kLongestName) name.erase(1, name.size() - kLongestName);
  return fmt::format("{}-{}-{}{}", time, reason, new_uuid().substr(0, 8), name);
}

// When a file was put there, by its name, in seconds since 1970; nothing for other names.
std::optional<double> time_of_kept(std::string_view name) {
  constexpr std::string_view kShape = "ddddddddTdddddd.ddd-";
  if (name.size() < kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == 'd' ? !is_digit(name[i]) : name[i] != kShape[i]) return std::nullopt;
  }
  return seconds_of_timestamp(fmt::format("{}-{}-{}T{}:{}:{}Z", name.substr(0, 4),
                                          name.substr(4, 2), name.substr(6, 2), name.substr(9, 2),
                                          name.substr(11, 2), name.substr(13, 6)));
}

Error failure(const std::error_code& code, std::string_view what, const std::string& path) {
  return {ErrorCode::unwritable, fmt::format("{}: {}", what, code.message()), path};
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

std::expected<void, Error> make_folders(const std::string& directory) {
  if (std::string link = linked_folder(directory); !link.empty()) {
    return fail(ErrorCode::unwritable,
                "is a symbolic link; remove it, or replace it with a directory", std::move(link));
  }
  std::error_code failed;
  const std::string quarantine = quarantine_path(directory);
  if (fs::is_directory(quarantine, failed)) return {};
  fs::create_directories(quarantine, failed);
  if (failed) return std::unexpected(failure(failed, "cannot be made", quarantine));
  if (auto flushed = flush_directory(path_in(directory, kFolder)); !flushed) return flushed;
  return flush_directory(directory);
}

std::string linked_folder(const std::string& directory) {
  std::error_code ignored;
  for (std::string folder : {path_in(directory, kFolder), quarantine_path(directory)}) {
    if (fs::is_symlink(fs::symlink_status(folder, ignored))) return folder;
  }
  return {};
}

void prune_quarantine(const std::string& directory, double now, const QuarantineRules& rules) {
  constexpr double kSecondsPerDay = 86'400;
  struct Kept {
    fs::path path;
    double age;
    std::uintmax_t size;
  };
  std::vector<Kept> files;  // By their names the oldest are first.
  std::uintmax_t bytes = 0;
  std::error_code failed;
  for (const std::string& name : names_in(quarantine_path(directory), failed)) {
    const fs::path path = fs::path(quarantine_path(directory)) / name;
    const auto at = time_of_kept(name);
    if (!at || !fs::is_regular_file(fs::symlink_status(path, failed))) continue;
    const std::uintmax_t size = fs::file_size(path, failed);
    if (failed) continue;
    files.push_back({path, now - *at, size});
    bytes += size;
  }
  for (const Kept& file : files) {
    const bool is_too_much =
        bytes > rules.most_bytes && file.age > rules.days_kept * kSecondsPerDay;
    if (file.age <= rules.days * kSecondsPerDay && !is_too_much) continue;
    if (fs::remove(file.path, failed)) bytes -= file.size;
  }
}

std::expected<std::string, Error> copy_to_quarantine(const std::string& directory,
                                                     const std::string& path,
                                                     std::string_view reason) {
  TREATY_TRY_VOID(make_folders(directory));
  std::string kept = path_in(quarantine_path(directory), kept_name(path, reason));
  TREATY_TRY(const auto bytes, read_file(path, kLargestCopy));
  if (bytes.size() > kLargestCopy) {
    return fail(ErrorCode::unwritable, "is too large to be kept", path);
  }
  TREATY_TRY_VOID(replace_file(kept, bytes, Links::replace));
  return kept;
}

std::expected<std::string, Error> move_to_quarantine(const std::string& directory,
                                                     const std::string& path,
                                                     std::string_view reason) {
  TREATY_TRY_VOID(make_folders(directory));
  std::string kept = path_in(quarantine_path(directory), kept_name(path, reason));
  std::error_code failed;
  fs::rename(path, kept, failed);
  if (failed == std::errc::cross_device_link) {  // An answer's place may be anywhere.
    auto copied = copy_to_quarantine(directory, path, reason);
    if (!copied) return copied;
    kept = *std::move(copied);
    fs::remove(path, failed);
  }
  if (failed) return std::unexpected(failure(failed, "cannot be moved to the quarantine", path));
  for (const std::string& flushed : {folder_of(kept), folder_of(path)}) {
    TREATY_TRY_VOID(flush_directory(flushed));
  }
  return kept;
}

}  // namespace treaty::bridge
