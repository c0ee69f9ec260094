#include "treaty/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include "treaty/base/ids.h"
#include "treaty/base/process/file_descriptor.h"

namespace treaty {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRandomCharacters = 6;  // After the mark.
constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr std::size_t kSmallChunk = 512;

Error failure(ErrorCode code, std::string_view what, const std::string& path) {
  return {code, fmt::format("{}: {}", what, std::strerror(errno)), path};
}

// A new file keeps the owner and the rights of the one it replaces.
bool inherit(int file, const struct stat& before) {
  if (before.st_nlink == 0) return true;
  // Only root can give a file to its owner again; for everybody else it is theirs already.
  const bool owned = fchown(file, before.st_uid, before.st_gid) == 0 || geteuid() != 0;
  return owned && fchmod(file, before.st_mode & 07777U) == 0;
}

// Random, since a leftover of the same name would be in the way for ever. A name that is as long as
// names get gives some of its end for it.
std::string temporary_name(const std::string& path) {
  constexpr std::size_t kMost = NAME_MAX - kTemporaryMark.size() - kRandomCharacters;
  const std::size_t name = path.size() - (path.rfind('/') + 1);
  return fmt::format("{}{}{}", path.substr(0, path.size() - (name > kMost ? name - kMost : 0)),
                     kTemporaryMark, new_uuid().substr(0, kRandomCharacters));
}

// A file beside `target` that holds the bytes, on the disk; its path.
std::expected<std::string, Error> write_beside(const std::string& target, std::string_view bytes,
                                               const struct stat& before) {
  std::string temporary = temporary_name(target);
  // The user's mask says who may read a new file. Nobody else is to read more than the old one.
  const mode_t rights = before.st_nlink == 0 ? 0666 : 0600;
  FileDescriptor file(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, rights));
  if (!file) return std::unexpected(failure(ErrorCode::unwritable, "cannot be written", target));
  bool good = inherit(file.get(), before) && write_all(file.get(), bytes) && fsync(file.get()) == 0;
  good = file.close() && good;
  if (good) return temporary;
  const Error error = failure(ErrorCode::unwritable, "cannot be written", target);
  unlink(temporary.c_str());
  return std::unexpected(error);
}

std::string directory_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string_view name_of_replaced(std::string_view name) {
  constexpr std::size_t kRest = kTemporaryMark.size() + kRandomCharacters;
  if (name.size() <= kRest) return {};
  const std::string_view replaced = name.substr(0, name.size() - kRest);
  return name.substr(replaced.size()).starts_with(kTemporaryMark) ? replaced : std::string_view();
}

std::expected<std::string, Error> read_file(const std::string& path, std::size_t limit) {
  // A pipe in the place of a file must not hold up the reader.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return std::unexpected(
        failure(is_missing ? ErrorCode::not_found : ErrorCode::unreadable, "cannot be read", path));
  }
  struct stat status{};
  if (fstat(file.get(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const bool directory = S_ISDIR(status.st_mode);
    return fail(directory ? ErrorCode::is_directory : ErrorCode::unreadable,
                directory ? "is a directory" : "is not a regular file", path);
  }
  // One more than there is shows the end at once; files of the system itself tell no size.
  const std::size_t size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  const std::size_t chunk = std::clamp(size + 1, kSmallChunk, kChunk);
  std::string bytes;
  ssize_t got = 1;
  while (got > 0 && bytes.size() <= limit) {
    const std::size_t before = bytes.size();
    bytes.resize(before + std::min(chunk, limit + 1 - before));
    do {
      got = read(file.get(), bytes.data() + before, bytes.size() - before);
    } while (got < 0 && errno == EINTR);
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  if (got < 0) return std::unexpected(failure(ErrorCode::unreadable, "cannot be read", path));
  return bytes;
}

std::expected<OpenFile, Error> open_to_read(const std::string& path) {
  OpenFile file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) {
    return std::unexpected(failure(ErrorCode::unreadable, "cannot be read", path));
  }
  struct stat status{};
  if (fstat(fileno(file.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::is_directory, "is a directory", path);
  }
  return file;
}

std::expected<std::string, Error> read_rest(const OpenFile& file, const std::string& path,
                                            std::size_t limit) {
  std::string bytes;
  std::size_t wanted = 0;
  std::size_t got = 0;
  do {
    const std::size_t before = bytes.size();
    wanted = std::min(kChunk - 1, limit - before) + 1;  // One more tells that there is too much.
    bytes.resize(before + wanted);
    got = std::fread(bytes.data() + before, 1, wanted, file.get());
    bytes.resize(before + got);
  } while (got == wanted && bytes.size() <= limit);
  if (std::ferror(file.get()) == 0) return bytes;
  return std::unexpected(failure(ErrorCode::unreadable, "cannot be read", path));
}

std::vector<std::string> names_in(const std::string& directory, std::error_code& failed,
                                  std::size_t most) {
  std::vector<std::string> names;
  auto entry = fs::directory_iterator(directory, failed);
  for (; !failed && entry != fs::directory_iterator() && names.size() < most;
       entry.increment(failed)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::expected<void, Error> flush_directory(const std::string& path) {
  const FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot flush a directory; their names are as durable as they get.
  if (directory && (fsync(directory.get()) == 0 || errno == EINVAL)) return {};
  return std::unexpected(failure(ErrorCode::unwritable, "cannot be flushed to the disk", path));
}

std::expected<void, Error> replace_file(const std::string& path, std::string_view bytes,
                                        Links links) {
  std::error_code ignored;
  const bool through_link = links == Links::follow && fs::exists(path, ignored);
  const std::string target = through_link ? fs::canonical(path, ignored).string() : path;
  struct stat before{};
  if (lstat(target.c_str(), &before) == 0 && !S_ISREG(before.st_mode) && !S_ISLNK(before.st_mode)) {
    return fail(ErrorCode::unwritable, "is not a regular file and cannot be replaced", path);
  }
  if (S_ISLNK(before.st_mode)) before = {};
  const auto temporary = write_beside(target, bytes, before);
  if (!temporary) return fail(temporary.error().code, temporary.error().message, path);
  if (rename(temporary->c_str(), target.c_str()) == 0) return flush_directory(directory_of(target));
  const Error error = failure(ErrorCode::unwritable, "cannot be written", path);
  unlink(temporary->c_str());
  return std::unexpected(error);
}

std::expected<void, Error> create_file(const std::string& path, std::string_view bytes) {
  const auto temporary = write_beside(path, bytes, {});
  if (!temporary) return std::unexpected(temporary.error());
  // A second name, unlike a new one, is never given to a file when it is taken; but there are file
  // systems on which a file has one name only.
  int failed = link(temporary->c_str(), path.c_str());
  if (failed != 0 && (errno == EPERM || errno == EOPNOTSUPP)) {
    failed = renameat2(AT_FDCWD, temporary->c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  }
  const ErrorCode code = errno == EEXIST ? ErrorCode::conflict : ErrorCode::unwritable;
  const Error error = failure(code, "cannot be written", path);
  unlink(temporary->c_str());
  if (failed != 0) return std::unexpected(error);
  return flush_directory(directory_of(path));
}

}  // namespace treaty
