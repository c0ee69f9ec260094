#include "treaty/backends/bridge/answer_watch.h"

#include <utility>

namespace treaty::backends {

namespace asio = boost::asio;

// The wait holds a weak reference. It ends when the owner destroys this object.
void AnswerWatch::listen() {
  descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [weak = weak_from_this()](const boost::system::error_code& failed) {
                           const auto self = weak.lock();
                           if (!self || failed == asio::error::operation_aborted) return;
                           self->read_news(failed.failed());
                           if (self->is_alive_) self->listen();
                         });
}

void AnswerWatch::read_news(bool failed) {
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

std::expected<std::shared_ptr<AnswerWatch>, Error> AnswerWatch::open(
    const asio::any_io_executor& executor, const std::string& directory) {
  auto watch = bridge::DirectoryWatch::open(bridge::Wanted::responses);
  if (!watch) return fail(watch.error().code, watch.error().message, directory);
  if (const auto added = watch->add(directory); !added) return std::unexpected(added.error());
  auto answers = std::make_shared<AnswerWatch>(executor, *std::move(watch));
  answers->listen();
  return answers;
}

}  // namespace treaty::backends
