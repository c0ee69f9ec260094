#include "treaty/store/sqlite/owners.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace treaty::store::sqlite {
namespace {

constexpr mode_t kLockFileMode = 0600;

struct flock lock_of(std::int64_t number) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return lock;
}

Error failure_of(const std::string& path) {
  return {.code = ErrorCode::unavailable,
          .message = fmt::format("the lock file of the store cannot be used ({}); check the "
                                 "permissions of its directory",
                                 std::strerror(errno)),
          .where = path};
}

}  // namespace

std::expected<Owners, Error> Owners::open(const std::string& path) {
  FileDescriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kLockFileMode));
  if (!file) return std::unexpected(failure_of(path));
  return Owners(std::move(file), path);
}

std::expected<void, Error> Owners::hold(std::int64_t number) {
  // The lock belongs to the open file, not to the process: closing the same file elsewhere in this
  // process does not let go of it, and two stores in one process are two owners.
  struct flock lock = lock_of(number);
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) return std::unexpected(failure_of(path_));
  held_ = number;
  return {};
}

bool Owners::is_gone(std::int64_t number) const {
  if (number == held_) return false;
  struct flock lock = lock_of(number);
  // When in doubt it lives: nobody may take its turns.
  return ::fcntl(file_.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

}  // namespace treaty::store::sqlite
