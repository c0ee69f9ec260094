#include "treaty/http/server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "treaty/http/session.h"

namespace treaty::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Connections beyond the limit that still get a 503; the rest is closed at once.
constexpr std::size_t kTurnedAway = 64;

// How long to wait before accepting again when file descriptors have run out.
constexpr std::chrono::milliseconds kBreath{20};

Error listen_error(const std::string& address, std::uint16_t port, const error_code& error) {
  const auto say = [](std::string message) {
    return Error{.code = ErrorCode::wrong_usage, .message = std::move(message)};
  };
  if (error == asio::error::address_in_use) {
    return say(
        fmt::format("port {} of {} is in use: stop what listens there, or choose another "
                    "port (0 for a free one)",
                    port, address));
  }
  if (error == asio::error::access_denied) {
    return say(fmt::format("port {} needs more rights: choose a port above 1023", port));
  }
  if (error == boost::system::errc::address_not_available) {
    return say(
        fmt::format("{} is not an address of this machine: 127.0.0.1 is for this machine "
                    "alone, 0.0.0.0 for every network",
                    address));
  }
  return say(fmt::format("cannot listen on {} port {}: {}", address, port, error.message()));
}

}  // namespace

class Server::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::io_context& context, Handler handler, ServerOptions options)
      : context_(context),
        acceptor_(context),
        breath_(context),
        hall_(std::make_shared<Hall>(std::move(handler), std::move(options))) {}

  std::expected<std::uint16_t, Error> listen(const std::string& address, std::uint16_t port) {
    error_code error;
    const auto ip = asio::ip::make_address(address, error);
    if (error) {
      return std::unexpected(Error{
          .code = ErrorCode::wrong_usage,
          .message = fmt::format("{} is not an IP address: give one such as 127.0.0.1", address)});
    }
    const tcp::endpoint endpoint(ip, port);
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && hall_->options.reuse_port) share_port(error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) share_port(error);  // Later than bind: nobody but us may have the port already.
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      error_code ignored;
      acceptor_.close(ignored);
      return std::unexpected(listen_error(address, port, error));
    }
    asio::co_spawn(context_, accept(shared_from_this()), asio::detached);
    return acceptor_.local_endpoint(error).port();
  }

  void stop() {
    hall_->stopping = true;
    error_code ignored;
    acceptor_.close(ignored);
    breath_.cancel();
    for (const auto& session : sessions()) session->on_stop();
  }

  void abandon() {
    for (const auto& session : sessions()) session->abandon();
  }

  void configure(ServerOptions options) { hall_->options = std::move(options); }

  void close_all() {
    stop();
    for (const auto& session : sessions()) session->close();
  }

  std::size_t connections() const { return hall_->sessions.size(); }

 private:
  // Kept: what is done to one may be the end of another.
  std::vector<std::shared_ptr<Session>> sessions() const {
    std::vector<std::shared_ptr<Session>> all;
    for (Session* session : hall_->sessions) all.push_back(session->self());
    return all;
  }

  void share_port(error_code& error) {
    const int yes = 1;
    if (setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0) {
      error = error_code(errno, boost::system::system_category());
    }
  }

  static asio::awaitable<void> accept(std::shared_ptr<State> state) {
    while (state->acceptor_.is_open()) {
      tcp::socket socket(state->context_);
      error_code error;
      co_await state->acceptor_.async_accept(socket,
                                             asio::redirect_error(asio::use_awaitable, error));
      if (!error) {
        state->welcome(std::make_shared<Session>(std::move(socket), state->hall_));
      } else if (state->acceptor_.is_open() && error != asio::error::connection_aborted) {
        state->breath_.expires_after(kBreath);
        co_await state->breath_.async_wait(asio::redirect_error(asio::use_awaitable, error));
      }
    }
  }

  void welcome(const std::shared_ptr<Session>& session) {
    const std::size_t count = hall_->occupancy->connections;
    const std::size_t limit = hall_->options.max_connections;
    if (count <= limit) {
      Session::start(session);
    } else if (count <= limit + kTurnedAway) {
      Session::turn_away(session);
    } else {
      session->close();
    }
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  asio::steady_timer breath_;
  std::shared_ptr<Hall> hall_;
};

Server::Server(asio::io_context& context, Handler handler, ServerOptions options)
    : state_(std::make_shared<State>(context, std::move(handler), std::move(options))) {}

Server::~Server() { state_->close_all(); }

std::expected<std::uint16_t, Error> Server::listen(const std::string& address, std::uint16_t port) {
  return state_->listen(address, port);
}

void Server::stop() { state_->stop(); }

void Server::abandon() { state_->abandon(); }

void Server::configure(ServerOptions options) { state_->configure(std::move(options)); }

std::size_t Server::connections() const { return state_->connections(); }

}  // namespace treaty::http
