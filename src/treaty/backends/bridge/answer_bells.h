// Wakes those who wait on an event loop for an answer in a directory, when something is there.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <expected>
#include <memory>
#include <string>

#include "treaty/base/error.h"

namespace treaty::backends {

// Whoever waits for a file. Rings as soon as the file was written or replaced, and when nothing can
// be known of it any more.
struct Bell {
  boost::asio::steady_timer timer;
  bool has_rung = false;

  void ring() {
    has_rung = true;
    timer.cancel();
  }
};

// Belongs to the thread of one event loop.
class AnswerBells {
 public:
  // Rings for everything that happens from now on.
  static std::expected<std::shared_ptr<AnswerBells>, Error> open(
      const boost::asio::any_io_executor& executor, const std::string& directory);

  virtual ~AnswerBells() = default;

  // False once the directory was moved or deleted.
  virtual bool is_alive() const = 0;

  // One bell for a name; it is there until it is taken off.
  virtual void hang(const std::string& file_name, Bell& bell) = 0;
  virtual void take_off(const std::string& file_name) = 0;
};

}  // namespace treaty::backends
