#include "treaty/backends/bridge/answer_watch.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <utility>

#include "treaty/bridge/directory_watch.h"

namespace treaty::backends {
namespace {

namespace asio = boost::asio;

class DirectoryAnswers final : public AnswerWatch,
                               public std::enable_shared_from_this<DirectoryAnswers> {
 public:
  DirectoryAnswers(const asio::any_io_executor& executor, bridge::DirectoryWatch watch)
      : watch_(std::move(watch)), descriptor_(executor, watch_.descriptor()) {}
  ~DirectoryAnswers() override { descriptor_.release(); }  // The watch closes it.
  DirectoryAnswers(const DirectoryAnswers&) = delete;
  DirectoryAnswers& operator=(const DirectoryAnswers&) = delete;

  bool is_alive() const override { return is_alive_; }
  void subscribe(const std::string& file_name, const Waiter& waiter) override {
    wakers_[file_name] = waiter.waker();
  }
  void unsubscribe(const std::string& file_name) override { wakers_.erase(file_name); }

  // The wait holds a weak reference. It ends when the owner destroys this object.
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
    const bridge::DirectoryNews news = watch_.read();
    is_alive_ = !failed && news.gone.empty();
    if (!is_alive_ || news.is_incomplete) {
      for (const auto& [name, waker] : wakers_) waker->notify();
      return;
    }
    for (const bridge::FileNews& file : news.files) {
      const auto waker = wakers_.find(file.name);
      if (waker != wakers_.end()) waker->second->notify();
    }
  }

  bridge::DirectoryWatch watch_;
  asio::posix::stream_descriptor descriptor_;
  std::map<std::string, std::shared_ptr<Waker>, std::less<>> wakers_{};
  bool is_alive_ = true;
};

}  // namespace

std::expected<std::shared_ptr<AnswerWatch>, Error> AnswerWatch::open(
    const asio::any_io_executor& executor, const std::string& directory) {
  auto watch = bridge::DirectoryWatch::open(bridge::Wanted::responses);
  if (!watch) {
    return std::unexpected(Error{watch.error().code, watch.error().message, directory});
  }
  if (const auto added = watch->add(directory); !added) return std::unexpected(added.error());
  auto answers = std::make_shared<DirectoryAnswers>(executor, *std::move(watch));
  answers->listen();
  return answers;
}

}  // namespace treaty::backends
