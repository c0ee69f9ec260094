#include "treaty/store/directory/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "treaty/base/files.h"
#include "treaty/base/hash.h"
#include "treaty/base/ids.h"
#include "treaty/base/try.h"

namespace treaty::store::directory {
namespace {

constexpr mode_t kOnlyOurs = 0600;
constexpr mode_t kOurDirectory = 0700;
constexpr std::size_t kRandomCharacters = 6;  // Behind kTemporaryMark.
constexpr std::size_t kNameLength = 32;       // Hex digits: 128 bits.
constexpr std::size_t kChunk = 4'096;

FileDescriptor open_file(const std::string& path, int flags) {
  return FileDescriptor(::open(path.c_str(), flags, kOnlyOurs));
}

bool set_modified(int file, Milliseconds at) {
  constexpr Milliseconds kSecond = 1'000;
  constexpr long kNanoseconds = 1'000'000;
  const timespec time{.tv_sec = at / kSecond, .tv_nsec = (at % kSecond) * kNanoseconds};
  const timespec both[2] = {time, time};
  return ::futimens(file, both) == 0;
}

// Where the last whole line ends; nothing when it cannot be read.
std::optional<std::uint64_t> end_of_lines(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return std::nullopt;
  std::string chunk(kChunk, '\0');
  for (off_t end = status.st_size; end > 0;) {
    const off_t begin = std::max<off_t>(end - static_cast<off_t>(kChunk), 0);
    const auto size = static_cast<std::size_t>(end - begin);
    if (::pread(file, chunk.data(), size, begin) != static_cast<ssize_t>(size)) return std::nullopt;
    const std::size_t at = std::string_view(chunk).substr(0, size).rfind('\n');
    if (at != std::string_view::npos) return static_cast<std::uint64_t>(begin) + at + 1;
    end = begin;
  }
  return 0;
}

std::string parent_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

Error failure_of(const std::string& path) {
  const int code = errno;
  const char* advice = code == ENOSPC || code == EFBIG || code == EDQUOT
                           ? "the disk of the store is full; free some space"
                           : "the store cannot be used; check its directory and its permissions";
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("{} ({})", advice, std::strerror(code)),
          .where = path};
}

Error failure_of(const Error& error) {
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("a file of the store {}", error.message),
          .where = error.where};
}

std::expected<FileLock, Error> FileLock::take(const std::string& path) {
  // Opened anew each time: whoever opens it has a lock of its own, in the same process, too.
  FileDescriptor file = open_file(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
  if (!file) file = open_file(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (!file) return std::unexpected(failure_of(path));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(failure_of(path));
  }
  return FileLock(std::move(file));
}

std::expected<TemporaryFile, Error> TemporaryFile::write(std::string path, std::string_view bytes,
                                                         std::optional<Milliseconds> modified) {
  std::string temporary =
      fmt::format("{}{}{}", path, kTemporaryMark, new_uuid().substr(0, kRandomCharacters));
  const FileDescriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  if (!file) return std::unexpected(failure_of(path));
  TemporaryFile draft(std::move(path), std::move(temporary));
  const bool is_good = write_all(file.get(), bytes) &&
                       (!modified || set_modified(file.get(), *modified)) &&
                       ::fsync(file.get()) == 0;
  if (!is_good) return std::unexpected(failure_of(draft.path_));
  return draft;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})) {}

TemporaryFile::~TemporaryFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::expected<void, Error> TemporaryFile::move_into_place() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return std::unexpected(failure_of(path_));
  temporary_.clear();
  return {};
}

std::expected<void, Error> save_file(const std::string& path, std::string_view bytes) {
  TREATY_TRY(TemporaryFile draft, TemporaryFile::write(path, bytes));
  TREATY_TRY_VOID(draft.move_into_place());
  return flush_names(parent_of(path));
}

std::expected<std::optional<std::string>, Error> load_file(const std::string& path) {
  auto bytes = read_file(path, std::numeric_limits<std::uint32_t>::max());
  if (!bytes && bytes.error().code == ErrorCode::not_found) return std::nullopt;
  if (!bytes) return std::unexpected(failure_of(bytes.error()));
  return *std::move(bytes);
}

std::expected<void, Error> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return std::unexpected(failure_of(path));
  return flush_names(parent_of(path));
}

std::expected<void, Error> flush_names(const std::string& path) {
  if (auto ok = flush_directory(path); !ok) return std::unexpected(failure_of(ok.error()));
  return {};
}

std::expected<void, Error> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), kOurDirectory) == 0) return flush_names(parent_of(path));
  if (errno == ENOENT && !parent_of(path).empty() && parent_of(path) != path) {
    TREATY_TRY_VOID(make_directory(parent_of(path)));
    // There are file systems in which nothing can be made, and that say the same once more.
    if (::mkdir(path.c_str(), kOurDirectory) == 0) return flush_names(parent_of(path));
  }
  if (errno != EEXIST) return std::unexpected(failure_of(path));
  return {};
}

std::vector<std::string> names_in(const std::string& path) {
  std::error_code ignored;
  std::vector<std::string> names = treaty::names_in(path, ignored);
  std::erase_if(names, [](const std::string& name) { return !name_of_replaced(name).empty(); });
  return names;
}

std::expected<LogEnd, Error> append_lines(const std::string& path, std::string_view lines) {
  struct stat status{};
  const bool is_new = ::stat(path.c_str(), &status) != 0;
  const FileDescriptor file = open_file(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC);
  if (!file) return std::unexpected(failure_of(path));
  const auto before = end_of_lines(file.get());
  if (!before) return std::unexpected(failure_of(path));
  const auto size = static_cast<off_t>(*before);
  if (::ftruncate(file.get(), size) != 0) return std::unexpected(failure_of(path));
  if (!write_all(file.get(), lines) || ::fsync(file.get()) != 0) {
    const Error error = failure_of(path);
    // What cannot be taken back is behind the last line that was answered, and cut off next time
    // unless it is whole.
    [[maybe_unused]] const int ignored = ::ftruncate(file.get(), size);
    return std::unexpected(error);
  }
  if (is_new) {
    TREATY_TRY_VOID(flush_names(parent_of(path)));
  }
  return LogEnd{.before = *before, .after = *before + lines.size()};
}

std::expected<void, Error> cut_log(const std::string& path, std::uint64_t size) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == ENOENT ? std::expected<void, Error>() : std::unexpected(failure_of(path));
  }
  if (static_cast<std::uint64_t>(status.st_size) <= size) return {};
  const FileDescriptor file = open_file(path, O_RDWR | O_CLOEXEC);
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0 || ::fsync(file.get()) != 0) {
    return std::unexpected(failure_of(path));
  }
  return {};
}

std::expected<LogLines, Error> read_lines(const std::string& path, std::uint64_t offset) {
  LogLines log{.end = offset};
  const FileDescriptor file = open_file(path, O_RDONLY | O_CLOEXEC);
  if (!file) {
    if (errno != ENOENT && errno != ENOTDIR) return std::unexpected(failure_of(path));
    log.end = 0;
    return log;
  }
  const auto end = end_of_lines(file.get());
  if (!end) return std::unexpected(failure_of(path));
  if (*end <= offset) {
    log.end = *end;
    return log;
  }
  std::string bytes(*end - offset, '\0');
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t some = ::pread(file.get(), bytes.data() + got, bytes.size() - got,
                                 static_cast<off_t>(offset + got));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return std::unexpected(failure_of(path));
    got += static_cast<std::size_t>(some);
  }
  log.end = *end;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t stop = bytes.find('\n', begin);
    log.lines.push_back(bytes.substr(begin, stop - begin));
    begin = stop + 1;
  }
  return log;
}

std::string file_name_of(std::string_view text) { return sha256_hex(text).substr(0, kNameLength); }

}  // namespace treaty::store::directory
