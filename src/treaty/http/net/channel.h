// A socket with a deadline: past it the socket closes, and whoever waits on it wakes up.
//
// Nothing here holds a buffer while it waits: wait until the socket is ready, then read or write at
// once. The timer is moved lazily, so that a new deadline that is later than the old one is free.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <span>
#include <string_view>

#include "treaty/base/clock.h"

namespace treaty::http {

// `delay` from now, without overflow: a delay beyond a year is never.
SteadyTime after(std::chrono::milliseconds delay);

// Always held by a shared_ptr: the timer keeps it alive while it runs.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  enum class Expiry { closes, wakes };

  explicit Channel(boost::asio::ip::tcp::socket socket);
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  boost::asio::ip::tcp::socket& socket() { return socket_; }
  const boost::asio::ip::tcp::socket& socket() const { return socket_; }

  // Replaces the deadline; SteadyTime::max() is none. When it passes the socket closes, or what
  // waits on it merely wakes up.
  void set_deadline(SteadyTime deadline, Expiry expiry = Expiry::closes);

  // No deadline, and nothing left pending in the event loop.
  void stop_timer();

  // The deadline passed. Lasts until it is asked to forget.
  bool expired() const { return expired_; }
  void forget_expiry() { expired_ = false; }

  // Ready to be used without blocking; call once the socket is connected.
  void prepare();

  boost::asio::awaitable<boost::system::error_code> wait_readable();
  boost::asio::awaitable<boost::system::error_code> wait_writable();

  // Sleeps until the deadline, the end of the connection, or cancellation.
  boost::asio::awaitable<bool> sleep();

  // What comes without waiting: would_block when nothing does, eof at the end.
  std::size_t read_now(std::span<char> buffer, boost::system::error_code& error);
  std::size_t write_now(std::string_view bytes, boost::system::error_code& error);

  void close();

  // Closes with RST: the peer sees a connection that broke.
  void reset();

 private:
  void arm();
  void on_timer();
  void wake_up();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Waiter> waiter_{};  // None until somebody sleeps.
  SteadyTime deadline_ = SteadyTime::max();
  SteadyTime armed_ = SteadyTime::max();
  Expiry expiry_ = Expiry::closes;
  bool expired_ = false;
};

}  // namespace treaty::http
