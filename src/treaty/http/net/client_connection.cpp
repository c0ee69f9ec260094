#include "treaty/http/net/client_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <cerrno>

namespace treaty::http {

namespace asio = boost::asio;
using boost::system::error_code;

std::string authority_of(const std::string& host, std::uint16_t port) {
  return host.contains(':') ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

ClientConnection::ClientConnection(asio::io_context& context, std::string peer)
    : Channel(asio::ip::tcp::socket(context)), peer_(std::move(peer)) {}

IoStep ClientConnection::fail(const error_code& error) {
  failure_ = {
      .kind = FailureKind::reset,
      .message = error == asio::error::connection_reset || error == asio::error::broken_pipe
                     ? fmt::format("the connection was reset by {}", peer_)
                     : fmt::format("the connection to {} broke: {}", peer_, error.message())};
  return {IoOutcome::failed};
}

IoStep ClientConnection::judged(IoStep step, FailureKind kind) {
  if (step.outcome == IoOutcome::failed) failure_ = {.kind = kind, .message = tls_->reason()};
  return step;
}

// OpenSSL knows the socket by its number, which means nothing once the socket is closed.
IoStep ClientConnection::handshake() {
  if (!socket().is_open()) return fail(asio::error::operation_aborted);
  IoStep step = tls_->handshake();
  if (step.outcome == IoOutcome::closed) step.outcome = IoOutcome::failed;
  return judged(step, FailureKind::tls);
}

IoStep ClientConnection::read(std::span<char> buffer) {
  if (!socket().is_open()) return fail(asio::error::operation_aborted);
  if (tls_) return judged(tls_->read(buffer), FailureKind::reset);
  error_code error;
  const std::size_t size = read_now(buffer, error);
  if (!error) return {IoOutcome::done, size};
  if (error == asio::error::would_block) return {IoOutcome::wants_read};
  if (error == asio::error::eof) return {IoOutcome::closed};
  return fail(error);
}

IoStep ClientConnection::write(std::string_view bytes) {
  if (!socket().is_open()) return fail(asio::error::operation_aborted);
  if (tls_) return judged(tls_->write(bytes), FailureKind::reset);
  error_code error;
  const std::size_t size = write_now(bytes, error);
  if (!error) return {IoOutcome::done, size};
  return error == asio::error::would_block ? IoStep{IoOutcome::wants_write} : fail(error);
}

asio::awaitable<error_code> ClientConnection::wait_for(IoOutcome wanted) {
  return wanted == IoOutcome::wants_write ? wait_writable() : wait_readable();
}

bool ClientConnection::is_quiet() {
  if (!socket().is_open()) return false;
  char byte = 0;
  const ssize_t size = recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN;
  return size > 0 && is_secure();  // TLS also talks by itself: tickets, key updates.
}

void ClientConnection::hang_up() {
  if (tls_ && socket().is_open()) tls_->say_goodbye();
  close();
}

void Patience::begin(ClientConnection& connection, Phase phase) {
  phase_ = phase;
  const auto allowed = phase == Phase::connect      ? timeouts_.connect
                       : phase == Phase::first_byte ? timeouts_.first_byte
                                                    : timeouts_.idle;
  end_ = std::min(after(allowed), total_end_);
  connection.set_deadline(end_);
}

void Patience::finish_soon(ClientConnection& connection) {
  constexpr std::chrono::milliseconds kMoment{100};
  end_ = std::min(after(kMoment), total_end_);
  connection.set_deadline(end_);
}

FetchFailure Patience::timeout(const ClientConnection& connection) const {
  const auto say = [](std::string message) {
    return FetchFailure{.kind = FailureKind::timeout, .message = std::move(message)};
  };
  const auto seconds = [](std::chrono::milliseconds time) {
    return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
  };
  if (end_ == total_end_) {
    return say(fmt::format("the answer was not whole within {} (total)", seconds(timeouts_.total)));
  }
  switch (phase_) {
    case Phase::connect:
      return say(fmt::format("no connection to {} within {} (connect)", connection.peer(),
                             seconds(timeouts_.connect)));
    case Phase::first_byte:
      return say(fmt::format("no answer within {} (first byte)", seconds(timeouts_.first_byte)));
    case Phase::idle:
      return say(fmt::format("nothing moved for {} (idle)", seconds(timeouts_.idle)));
  }
  return say("a timeout");
}

FetchFailure Patience::explain(const ClientConnection& connection, const error_code& error) const {
  if (connection.expired()) return timeout(connection);
  if (error == asio::error::operation_aborted) {
    return {.kind = FailureKind::cancelled, .message = "the call was cancelled"};
  }
  return {
      .kind = FailureKind::reset,
      .message = fmt::format("the connection to {} broke: {}", connection.peer(), error.message())};
}

}  // namespace treaty::http
