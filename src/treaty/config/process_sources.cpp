// Where a configuration comes from when it is not a test's.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "treaty/base/clock.h"
#include "treaty/config/load.h"

namespace treaty::config {
namespace {

constexpr std::size_t kLargest = std::size_t{10} << 20U;

std::unexpected<Error> refuse(std::string message, const std::string& path,
                              ErrorCode code = ErrorCode::unreadable) {
  return std::unexpected(Error{code, std::move(message), path});
}

std::expected<std::string, Error> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)), path);
  struct stat status{};
  if (fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return refuse("is a directory", path, ErrorCode::is_directory);
  }
  std::string text;
  std::size_t size = 0;
  do {
    constexpr std::size_t kPiece = std::size_t{64} << 10U;
    size = text.size();
    text.resize(size + kPiece);
    text.resize(size + std::fread(text.data() + size, 1, kPiece, file.get()));
  } while (text.size() > size && text.size() <= kLargest);
  if (std::ferror(file.get()) != 0) {
    return refuse(fmt::format("cannot be read: {}", std::strerror(errno)), path);
  }
  if (text.size() > kLargest) return refuse("is larger than 10 MiB", path);
  return text;
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

Sources process_sources(Flags flags) {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  return {.flags = std::move(flags),
          .environment = backends::process_environment,
          .read_file = read_file,
          .file_exists = file_exists,
          .directory = failed ? "/" : here.string(),
          .now = unix_seconds(std::chrono::system_clock::now())};
}

}  // namespace treaty::config
