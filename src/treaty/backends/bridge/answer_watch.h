// Notifies those who wait on an event loop for an answer in a directory.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <expected>
#include <memory>
#include <string>

#include "treaty/base/error.h"
#include "treaty/base/notifier.h"

namespace treaty::backends {

// Belongs to the thread of one event loop.
class AnswerWatch {
 public:
  // Sees everything that happens from now on.
  static std::expected<std::shared_ptr<AnswerWatch>, Error> open(
      const boost::asio::any_io_executor& executor, const std::string& directory);

  virtual ~AnswerWatch() = default;

  // False once the directory was moved or deleted.
  virtual bool is_alive() const = 0;

  // The waiter is notified when the file was written or replaced, and when nothing can be known of
  // it any more. One for each name.
  virtual void subscribe(const std::string& file_name, const Waiter& waiter) = 0;
  virtual void unsubscribe(const std::string& file_name) = 0;
};

}  // namespace treaty::backends
