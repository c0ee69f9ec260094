#include "treaty/http/server.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "treaty/http/server_connection.h"

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

class Server::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(asio::io_context& context, Handler handler, ServerOptions options)
      : context_(context),
        acceptor_(context),
        breath_(context),
        state_(std::make_shared<ServerState>(std::move(handler), std::move(options))) {}

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
    if (!error && state_->options.reuse_port) share_port(error);
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
    state_->stopping = true;
    error_code ignored;
    acceptor_.close(ignored);
    breath_.cancel();
    for (const auto& connection : all_connections()) connection->on_stop();
  }

  void abandon() {
    for (const auto& connection : all_connections()) connection->abandon();
  }

  void configure(ServerOptions options) { state_->options = std::move(options); }

  void close_all() {
    stop();
    for (const auto& connection : all_connections()) connection->close();
  }

  std::size_t connections() const { return state_->connections.size(); }

 private:
  // Kept: what is done to one may be the end of another.
  std::vector<std::shared_ptr<ServerConnection>> all_connections() const {
    std::vector<std::shared_ptr<ServerConnection>> all;
    for (ServerConnection* connection : state_->connections) all.push_back(connection->self());
    return all;
  }

  void share_port(error_code& error) {
    const int yes = 1;
    if (setsockopt(acceptor_.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0) {
      error = error_code(errno, boost::system::system_category());
    }
  }

  static asio::awaitable<void> accept(std::shared_ptr<Listener> self) {
    while (self->acceptor_.is_open()) {
      tcp::socket socket(self->context_);
      error_code error;
      co_await self->acceptor_.async_accept(socket,
                                            asio::redirect_error(asio::use_awaitable, error));
      if (!error) {
        self->welcome(std::make_shared<ServerConnection>(std::move(socket), self->state_));
      } else if (self->acceptor_.is_open() && error != asio::error::connection_aborted) {
        self->breath_.expires_after(kBreath);
        co_await self->breath_.async_wait(asio::redirect_error(asio::use_awaitable, error));
      }
    }
  }

  void welcome(const std::shared_ptr<ServerConnection>& connection) {
    const std::size_t count = state_->load->connections;
    const std::size_t limit = state_->options.max_connections;
    if (count <= limit) {
      ServerConnection::start(connection);
    } else if (count <= limit + kTurnedAway) {
      ServerConnection::turn_away(connection);
    } else {
      connection->close();
    }
  }

  asio::io_context& context_;
  tcp::acceptor acceptor_;
  asio::steady_timer breath_;
  std::shared_ptr<ServerState> state_;
};

Server::Server(asio::io_context& context, Handler handler, ServerOptions options)
    : listener_(std::make_shared<Listener>(context, std::move(handler), std::move(options))) {}

Server::~Server() { listener_->close_all(); }

std::expected<std::uint16_t, Error> Server::listen(const std::string& address, std::uint16_t port) {
  return listener_->listen(address, port);
}

void Server::stop() { listener_->stop(); }

void Server::abandon() { listener_->abandon(); }

void Server::configure(ServerOptions options) { listener_->configure(std::move(options)); }

std::size_t Server::connections() const { return listener_->connections(); }

}  // namespace treaty::http
