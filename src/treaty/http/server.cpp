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
constexpr std::chrono::milliseconds kAcceptPause{20};

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

void share_port(tcp::acceptor& acceptor, error_code& error) {
  const int yes = 1;
  if (setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0) {
    error = error_code(errno, boost::system::system_category());
  }
}

// Kept: what is done to one may be the end of another.
std::vector<std::shared_ptr<ServerConnection>> connections_of(const ServerState& state) {
  std::vector<std::shared_ptr<ServerConnection>> all;
  all.reserve(state.connections.size());
  for (ServerConnection* connection : state.connections) all.push_back(connection->self());
  return all;
}

void welcome(const ServerState& state, const std::shared_ptr<ServerConnection>& connection) {
  const std::size_t count = state.load->connections;
  const std::size_t limit = state.options.max_connections;
  if (count <= limit) {
    ServerConnection::start(connection);
  } else if (count <= limit + kTurnedAway) {
    ServerConnection::turn_away(connection);
  } else {
    connection->close();
  }
}

asio::awaitable<void> accept(std::shared_ptr<ServerState> state) {
  while (state->acceptor.is_open()) {
    tcp::socket socket(state->acceptor.get_executor());
    error_code error;
    co_await state->acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      welcome(*state, std::make_shared<ServerConnection>(std::move(socket), state));
    } else if (state->acceptor.is_open() && error != asio::error::connection_aborted) {
      state->accept_pause.expires_after(kAcceptPause);
      co_await state->accept_pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
}

}  // namespace

Server::Server(asio::io_context& context, Handler handler, ServerOptions options)
    : state_(std::make_shared<ServerState>(context, std::move(handler), std::move(options))) {}

Server::~Server() {
  stop();
  for (const auto& connection : connections_of(*state_)) connection->close();
}

std::expected<std::uint16_t, Error> Server::listen(const std::string& address, std::uint16_t port) {
  error_code error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) {
    return fail(ErrorCode::wrong_usage,
                fmt::format("{} is not an IP address: give one such as 127.0.0.1", address));
  }
  const tcp::endpoint endpoint(ip, port);
  tcp::acceptor& acceptor = state_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && state_->options.reuse_port) share_port(acceptor, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) share_port(acceptor, error);  // After bind: nobody but us may have the port already.
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
    return std::unexpected(listen_error(address, port, error));
  }
  asio::co_spawn(acceptor.get_executor(), accept(state_), asio::detached);
  return acceptor.local_endpoint(error).port();
}

void Server::stop() {
  state_->stopping = true;
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->accept_pause.cancel();
  for (const auto& connection : connections_of(*state_)) connection->on_stop();
}

void Server::abandon() {
  for (const auto& connection : connections_of(*state_)) connection->abandon();
}

void Server::configure(ServerOptions options) { state_->options = std::move(options); }

std::size_t Server::connections() const { return state_->connections.size(); }

}  // namespace treaty::http
