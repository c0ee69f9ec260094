#include "treaty/backends/bridge/answer_bells.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <utility>

#include "treaty/bridge/directory_watch.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;

class WatchedBells final : public AnswerBells, public std::enable_shared_from_this<WatchedBells> {
 public:
  WatchedBells(const asio::any_io_executor& executor, bridge::DirectoryWatch watch)
      : watch_(std::move(watch)), descriptor_(executor, watch_.descriptor()) {}
  ~WatchedBells() override { descriptor_.release(); }  // The watch closes it.
  WatchedBells(const WatchedBells&) = delete;
  WatchedBells& operator=(const WatchedBells&) = delete;

  bool is_alive() const override { return is_alive_; }
  void hang(const std::string& file_name, Bell& bell) override { bells_[file_name] = &bell; }
  void take_off(const std::string& file_name) override { bells_.erase(file_name); }

  // The wait does not keep the bells: without an owner there is nobody to wake.
  void listen() {
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [weak = weak_from_this()](const boost::system::error_code& failed) {
                             const auto self = weak.lock();
                             if (!self || failed == asio::error::operation_aborted) return;
                             self->hear(failed.failed());
                             if (self->is_alive_) self->listen();
                           });
  }

 private:
  void hear(bool failed) {
    const bridge::News news = watch_.read();
    is_alive_ = !failed && news.gone.empty();
    if (!is_alive_ || news.is_incomplete) {
      for (const auto& [name, bell] : bells_) bell->ring();
      return;
    }
    for (const bridge::FileNews& file : news.files) {
      const auto bell = bells_.find(file.name);
      if (bell != bells_.end()) bell->second->ring();
    }
  }

  bridge::DirectoryWatch watch_;
  asio::posix::stream_descriptor descriptor_;
  std::map<std::string, Bell*, std::less<>> bells_{};
  bool is_alive_ = true;
};

}  // namespace

std::expected<std::shared_ptr<AnswerBells>, Error> AnswerBells::open(
    const asio::any_io_executor& executor, const std::string& directory) {
  auto watch = bridge::DirectoryWatch::open(bridge::Wanted::responses);
  if (!watch) {
    return std::unexpected(Error{watch.error().code, watch.error().message, directory});
  }
  if (const auto added = watch->add(directory); !added) return std::unexpected(added.error());
  auto bells = std::make_shared<WatchedBells>(executor, *std::move(watch));
  bells->listen();
  return bells;
}

}  // namespace treaty::backends
