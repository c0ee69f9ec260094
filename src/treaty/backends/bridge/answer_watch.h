// Notifies those who wait on an event loop for an answer in a directory.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <expected>
#include <map>
#include <memory>
#include <string>

#include "treaty/base/error.h"
#include "treaty/base/notifier.h"
#include "treaty/bridge/directory_watch.h"

namespace treaty::backends {

// Belongs to the thread of one event loop.
class AnswerWatch final : public std::enable_shared_from_this<AnswerWatch> {
 public:
  // Sees everything that happens from now on.
  static std::expected<std::shared_ptr<AnswerWatch>, Error> open(
      const boost::asio::any_io_executor& executor, const std::string& directory);

  // Use open().
  AnswerWatch(const boost::asio::any_io_executor& executor, bridge::DirectoryWatch watch)
      : watch_(std::move(watch)), descriptor_(executor, watch_.descriptor()) {}
  ~AnswerWatch() { descriptor_.release(); }  // The watch closes it.
  AnswerWatch(const AnswerWatch&) = delete;
  AnswerWatch& operator=(const AnswerWatch&) = delete;

  // False once the directory was moved or deleted.
  bool is_alive() const { return is_alive_; }

  // The waiter is notified when the file was written or replaced, and when nothing can be known of
  // it any more. One for each name.
  void subscribe(const std::string& file_name, const Waiter& waiter) {
    wakers_[file_name] = waiter.waker();
  }
  void unsubscribe(const std::string& file_name) { wakers_.erase(file_name); }

 private:
  void listen();
  void read_news(bool failed);

  bridge::DirectoryWatch watch_;
  boost::asio::posix::stream_descriptor descriptor_;
  std::map<std::string, std::shared_ptr<Waker>, std::less<>> wakers_{};
  bool is_alive_ = true;
};

}  // namespace treaty::backends
