#include "treaty/http/net/channel.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace treaty::http {

namespace asio = boost::asio;
using boost::system::error_code;

SteadyTime after(std::chrono::milliseconds delay) {
  constexpr std::chrono::hours kYear{24 * 365};
  return delay > kYear ? SteadyTime::max() : std::chrono::steady_clock::now() + delay;
}

Channel::Channel(asio::ip::tcp::socket socket)
    : socket_(std::move(socket)), timer_(socket_.get_executor()) {}

void Channel::set_deadline(SteadyTime deadline, Expiry expiry) {
  deadline_ = deadline;
  expiry_ = expiry;
  if (deadline_ < armed_) arm();
}

void Channel::arm() {
  armed_ = deadline_;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->on_timer();
  });
}

// The deadline may have moved since the timer was armed; a wait that was replaced may still come
// through, and then does no harm.
void Channel::on_timer() {
  armed_ = SteadyTime::max();
  if (deadline_ == SteadyTime::max()) return;
  if (std::chrono::steady_clock::now() < deadline_) return arm();
  expired_ = true;
  if (expiry_ == Expiry::closes) return close();
  error_code ignored;
  socket_.cancel(ignored);
  wake_up();
}

void Channel::stop_timer() {
  deadline_ = SteadyTime::max();
  if (armed_ == SteadyTime::max()) return;
  armed_ = SteadyTime::max();
  timer_.cancel();
}

void Channel::prepare() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

asio::awaitable<error_code> Channel::wait_readable() {
  error_code error;
  co_await socket_.async_wait(asio::ip::tcp::socket::wait_read,
                              asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

asio::awaitable<error_code> Channel::wait_writable() {
  error_code error;
  co_await socket_.async_wait(asio::ip::tcp::socket::wait_write,
                              asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

asio::awaitable<bool> Channel::sleep() {
  if (!waiter_) waiter_ = std::make_unique<Waiter>(socket_.get_executor());
  return waiter_->wait();
}

void Channel::wake_up() {
  if (waiter_) waiter_->waker()->notify();
}

std::size_t Channel::read_now(std::span<char> buffer, error_code& error) {
  return socket_.read_some(asio::buffer(buffer.data(), buffer.size()), error);
}

std::size_t Channel::write_now(std::string_view bytes, error_code& error) {
  return socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
}

void Channel::close() {
  error_code ignored;
  socket_.close(ignored);
  stop_timer();
  wake_up();
}

void Channel::reset() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

}  // namespace treaty::http
