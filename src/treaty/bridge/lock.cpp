#include "treaty/bridge/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/process/spawn.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::bridge {
namespace {

constexpr std::size_t kLargestRecord = std::size_t{4} << 10U;
constexpr const char* kBootFile = "/proc/sys/kernel/random/boot_id";

std::string boot_of_machine() {
  const auto text = read_file(kBootFile, kLargestRecord);
  return text ? std::string(trimmed(*text)) : "";
}

std::string encode(const Holder& holder) {
  json::Writer writer;
  writer.begin_object().member("pid", holder.process.pid);
  writer.member("started", holder.process.started).member("boot", holder.process.boot);
  writer.member("command", holder.command).member("since", holder.since);
  return writer.end_object().take() + "\n";
}

std::optional<Holder> decode_holder(std::string_view text) {
  const json::Document document(text);
  const auto root = document.root();
  const auto number = json::find_integer(root, "pid");
  if (!number || *number < 1 || *number > std::numeric_limits<pid_t>::max()) return std::nullopt;
  const auto text_of_member = [&](std::string_view name) {
    return std::string(json::find_text(root, name));
  };
  return Holder{.process = {.pid = static_cast<pid_t>(*number),
                            .started = text_of_member("started"),
                            .boot = text_of_member("boot")},
                .command = text_of_member("command"),
                .since = text_of_member("since")};
}

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// A holder that has no lock of the system, but lives, took it in another way.
bool is_held_otherwise(const std::optional<Holder>& holder) {
  return holder && holder->process.pid != getpid() && is_running(holder->process);
}

std::optional<Holder> holder_in(const std::string& path) {
  const auto text = read_file(path, kLargestRecord);
  return text ? decode_holder(*text) : std::nullopt;
}

}  // namespace

std::optional<Process> find_process(pid_t pid) {
  const auto status = process::status_of(pid);
  if (!status) return std::nullopt;
  return Process{pid, status->started, boot_of_machine()};
}

Process this_process() { return find_process(getpid()).value_or(Process{.pid = getpid()}); }

bool is_running(const Process& process) {
  const auto status = process::status_of(process.pid);
  // A zombie does nothing any more, however long nobody asks for its exit code.
  if (!status || status->has_ended()) return false;
  if (!process.started.empty() && status->started != process.started) return false;
  return process.boot.empty() || boot_of_machine() == process.boot;
}

LockView look_at_lock(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  LockView view{.holder = holder_in(path)};
  if (!file) {
    if (view.holder)
      view.state = is_running(view.holder->process) ? LockState::held : LockState::dead;
    return view;
  }
  struct flock lock = whole_file();
  const bool taken = fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  if (taken || is_held_otherwise(view.holder)) {
    view.state = LockState::held;
  } else if (view.holder) {
    view.state = LockState::dead;
  }
  return view;
}

std::string text_of(const std::optional<Holder>& holder) {
  if (!holder) return "another process";
  return fmt::format("process {} (treaty bridge {}, since {})", holder->process.pid,
                     holder->command.empty() ? "?" : holder->command,
                     holder->since.empty() ? "?" : holder->since);
}

std::expected<Lock, Error> Lock::take(const std::string& path, const std::string& command) {
  FileDescriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  const auto refuse = [&](ErrorCode code, std::string message) {
    return std::unexpected(Error{code, std::move(message), path});
  };
  const auto unusable = [&] {
    return refuse(ErrorCode::unavailable, fmt::format("cannot be used: {}", std::strerror(errno)));
  };
  if (!file) return unusable();
  struct flock wanted = whole_file();
  const bool got = fcntl(file.get(), F_OFD_SETLK, &wanted) == 0;
  if (!got && errno != EAGAIN && errno != EACCES) return unusable();
  const auto holder = holder_in(path);
  if (!got || is_held_otherwise(holder)) {
    return refuse(ErrorCode::conflict, fmt::format("{} drives this directory", text_of(holder)));
  }
  const std::string text =
      encode(Holder{.process = this_process(), .command = command, .since = timestamp_now()});
  const bool written =
      ftruncate(file.get(), 0) == 0 &&
      pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!written) return unusable();
  return Lock(std::move(file));
}

// The file stays: who removed it would take it away from somebody who has just locked it.
Lock::~Lock() {
  if (file_) [[maybe_unused]]
    const int emptied = ftruncate(file_.get(), 0);
}

}  // namespace treaty::bridge
