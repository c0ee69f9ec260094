#include "treaty/backends/bridge/directory_watch.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

namespace treaty::backends {
namespace {

namespace asio = boost::asio;

// A file that was written in its place, renamed to it, or got it as a second name.
constexpr std::uint32_t kWritten = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE;
constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

class Inotify final : public DirectoryWatch, public std::enable_shared_from_this<Inotify> {
 public:
  Inotify(asio::any_io_executor executor, int descriptor)
      : descriptor_(std::move(executor), descriptor) {}

  bool is_alive() const override { return is_alive_; }
  void hang(const std::string& file_name, Bell& bell) override { bells_[file_name] = &bell; }
  void take_off(const std::string& file_name) override { bells_.erase(file_name); }

  // The wait does not keep the watch: without an owner there is nobody to tell.
  void listen() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [weak = weak_from_this()](const boost::system::error_code& failed) {
                             const auto self = weak.lock();
                             if (!self || failed == asio::error::operation_aborted) return;
                             if (failed || !self->read_all()) self->die();
                             if (self->is_alive_) self->listen();
                           });
  }

 private:
  // False when the directory is gone.
  bool read_all() {
    alignas(inotify_event) std::array<char, std::size_t{16} << 10U> buffer{};
    while (true) {
      const ssize_t size = read(descriptor_.native_handle(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return size < 0 && errno == EAGAIN;
      for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        const char* name = event.len > 0 ? buffer.data() + at + sizeof event : "";
        if ((event.mask & kGone) != 0) return false;
        (event.mask & IN_Q_OVERFLOW) != 0 ? ring_all() : ring(name);
        at += sizeof event + event.len;
      }
    }
  }

  void ring(const std::string& name) {
    const auto bell = bells_.find(name);
    if (bell != bells_.end()) bell->second->ring();
  }

  void ring_all() {
    for (const auto& [name, bell] : bells_) bell->ring();
  }

  void die() {
    is_alive_ = false;
    ring_all();
  }

  asio::posix::stream_descriptor descriptor_;
  std::map<std::string, Bell*, std::less<>> bells_{};
  bool is_alive_ = true;
};

Error failure(const std::string& directory) {
  return {ErrorCode::unreadable, fmt::format("cannot be watched: {}", std::strerror(errno)),
          directory};
}

}  // namespace

std::expected<std::shared_ptr<DirectoryWatch>, Error> DirectoryWatch::open(
    asio::any_io_executor executor, const std::string& directory) {
  const int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) return std::unexpected(failure(directory));
  if (inotify_add_watch(descriptor, directory.c_str(),
                        kWritten | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) < 0) {
    const Error error = failure(directory);
    close(descriptor);
    return std::unexpected(error);
  }
  auto watch = std::make_shared<Inotify>(std::move(executor), descriptor);
  watch->listen();
  return watch;
}

}  // namespace treaty::backends
