#include "treaty/http/net/client_connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

#include "treaty/http/net/address_guard.h"
#include "treaty/http/wire/message_head.h"

namespace treaty::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Outcome = std::expected<void, FetchFailure>;

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

// A read through TLS takes what the server sends by itself (tickets, key updates) and finds the end
// of the connection behind it.
bool ClientConnection::is_quiet() {
  char byte = 0;
  return read({&byte, 1}).outcome == IoOutcome::wants_read;
}

void ClientConnection::hang_up() {
  if (tls_ && socket().is_open()) tls_->send_close_notify();
  close();
}

void FetchTimeouts::begin(ClientConnection& connection, Phase phase) {
  phase_ = phase;
  const auto allowed = phase == Phase::connect      ? timeouts_.connect
                       : phase == Phase::first_byte ? timeouts_.first_byte
                                                    : timeouts_.idle;
  end_ = std::min({after(allowed), total_end_, silence_end_});
  connection.set_deadline(end_);
}

void FetchTimeouts::note_progress(std::size_t pieces, bool is_whole) {
  constexpr std::chrono::milliseconds kRest{2'000};
  if (pieces == pieces_ && is_whole == is_whole_) return;
  pieces_ = pieces;
  is_whole_ = is_whole;
  silence_end_ = timeouts_.stall ? after(*timeouts_.stall) : SteadyTime::max();
  if (is_whole) silence_end_ = std::min(silence_end_, after(kRest));
}

void FetchTimeouts::finish_soon(ClientConnection& connection) {
  constexpr std::chrono::milliseconds kMoment{100};
  end_ = std::min(after(kMoment), total_end_);
  connection.set_deadline(end_);
}

FetchFailure FetchTimeouts::timeout(const ClientConnection& connection) const {
  const auto say = [](Timeout timeout, std::string message) {
    return FetchFailure{
        .kind = FailureKind::timeout, .message = std::move(message), .timeout = timeout};
  };
  const auto seconds = [](std::chrono::milliseconds time) {
    return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
  };
  if (end_ == total_end_) {
    return say(Timeout::total,
               fmt::format("the answer was not whole within {} (total)", seconds(timeouts_.total)));
  }
  if (end_ == silence_end_ && is_whole_) {
    return say(Timeout::stall, "nothing followed the answer, and the connection stayed open");
  }
  if (end_ == silence_end_ && pieces_ > 0) {
    return say(Timeout::stall, fmt::format("the answer stopped: no further piece of it came for {}",
                                           seconds(*timeouts_.stall)));
  }
  if (end_ == silence_end_) {
    return say(Timeout::first_piece, fmt::format("no piece of the answer came within {}",
                                                 seconds(*timeouts_.first_piece)));
  }
  switch (phase_) {
    case Phase::connect:
      return say(Timeout::connect, fmt::format("no connection to {} within {} (connect)",
                                               connection.peer(), seconds(timeouts_.connect)));
    case Phase::first_byte:
      return say(Timeout::first_byte,
                 fmt::format("no answer within {} (first byte)", seconds(timeouts_.first_byte)));
    case Phase::idle: break;
  }
  return say(Timeout::idle, fmt::format("nothing moved for {} (idle)", seconds(timeouts_.idle)));
}

FetchFailure FetchTimeouts::explain(const ClientConnection& connection,
                                    const error_code& error) const {
  if (connection.expired() || std::chrono::steady_clock::now() >= end_) return timeout(connection);
  if (error == asio::error::operation_aborted) {
    return {.kind = FailureKind::cancelled, .message = "the call was cancelled"};
  }
  return {
      .kind = FailureKind::reset,
      .message = fmt::format("the connection to {} broke: {}", connection.peer(), error.message())};
}

namespace {

constexpr std::size_t kMaxProxyHead = std::size_t{16} << 10U;

using Addresses = std::vector<asio::ip::address>;

asio::ip::address address_of(const sockaddr& generic) {
  if (generic.sa_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &generic, sizeof six);
    asio::ip::address_v6::bytes_type bytes{};
    std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
    return asio::ip::address_v6(bytes, six.sin6_scope_id);
  }
  sockaddr_in four{};
  std::memcpy(&four, &generic, sizeof four);
  return asio::ip::address_v4(ntohl(four.sin_addr.s_addr));
}

std::expected<Addresses, std::string> ask_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) {
    return std::unexpected(fmt::format("{} has no address: {}", host, gai_strerror(error)));
  }
  Addresses addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_family != AF_INET && entry->ai_family != AF_INET6) continue;
    const auto address = address_of(*entry->ai_addr);
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  }
  freeaddrinfo(found);
  if (addresses.empty()) return std::unexpected(fmt::format("{} has no address", host));
  return addresses;
}

// The system's resolver cannot be interrupted: it runs on a thread of `lookups`, and whoever cannot
// wait any longer goes on without its answer. The addresses come in the order to try them.
asio::awaitable<std::expected<Addresses, FetchFailure>> resolve(OffloadPool& lookups,
                                                                std::string host,
                                                                ClientConnection& connection,
                                                                const FetchTimeouts& timeouts) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) co_return Addresses{address};
  auto found = co_await lookups.run_until(
      timeouts.end(), [host] { return ask_system(host); }, [](const auto&) {});
  if (found && *found) co_return **std::move(found);
  if (found) co_return fail(FailureKind::bad_address, found->error());
  if (found.error() == OffloadError::full) {
    co_return fail(FailureKind::bad_address, "too many names are being looked up");
  }
  co_return std::unexpected(timeouts.explain(connection, asio::error::operation_aborted));
}

FetchFailure connect_failure(const ClientConnection& connection, const error_code& error) {
  if (error == asio::error::connection_refused) {
    return {.kind = FailureKind::refused,
            .message = fmt::format("connection refused by {}", connection.peer())};
  }
  return {.kind = FailureKind::refused,
          .message = fmt::format("{} cannot be reached: {}", connection.peer(), error.message())};
}

// Tries every address; each gets its share of the time, so that a silent one leaves some to others.
asio::awaitable<Outcome> connect_to(ClientConnection& connection, const Addresses& addresses,
                                    std::uint16_t port, const FetchTimeouts& timeouts) {
  FetchFailure failure{.kind = FailureKind::refused, .message = "no address to connect to"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_last = i + 1 == addresses.size();
    const auto share = (timeouts.end() - now) / static_cast<std::int64_t>(addresses.size() - i);
    connection.set_deadline(is_last ? timeouts.end() : now + share);
    error_code error;
    co_await connection.socket().async_connect(tcp::endpoint(addresses[i], port),
                                               asio::redirect_error(asio::use_awaitable, error));
    if (!error && connection.socket().is_open()) {
      connection.set_deadline(timeouts.end());
      connection.prepare();
      co_return Outcome{};
    }
    const bool ran_out = std::chrono::steady_clock::now() >= timeouts.end();
    if (is_last || ran_out || (error == asio::error::operation_aborted && !connection.expired())) {
      if (connection.expired() || error == asio::error::operation_aborted) {
        co_return std::unexpected(timeouts.explain(connection, error));
      }
      co_return std::unexpected(connect_failure(connection, error));
    }
    connection.close();
    connection.forget_expiry();
  }
  co_return std::unexpected(failure);
}

// All of them are: one that is not would be tried by whoever can make the others fail.
Outcome check(const std::string& host, const Addresses& addresses, const AddressGuard* guard) {
  if (guard == nullptr) return {};
  for (const asio::ip::address& address : addresses) {
    if (guard->allows(host, address)) continue;
    return fail(FailureKind::bad_address,
                fmt::format("{} is not a public address, and not one that is allowed",
                            address.to_string()));
  }
  return {};
}

asio::awaitable<Outcome> send_all(ClientConnection& connection, std::string_view bytes,
                                  const FetchTimeouts& timeouts) {
  while (!bytes.empty()) {
    const IoStep step = connection.write(bytes);
    if (step.outcome == IoOutcome::done) {
      bytes.remove_prefix(step.size);
    } else if (step.outcome == IoOutcome::failed) {
      co_return std::unexpected(connection.failure());
    } else if (const error_code error = co_await connection.wait_for(step.outcome)) {
      co_return std::unexpected(timeouts.explain(connection, error));
    }
  }
  co_return Outcome{};
}

// The proxy's whole answer to CONNECT is a head; the server behind it speaks only when spoken to.
asio::awaitable<std::expected<std::string, FetchFailure>> read_proxy_head(
    ClientConnection& connection, const FetchTimeouts& timeouts) {
  std::string head;
  std::array<char, 2048> buffer{};
  while (find_head_end(head) == std::string::npos) {
    if (head.size() > kMaxProxyHead) {
      co_return fail(FailureKind::too_large, "the header of the proxy's answer is too large");
    }
    if (const error_code error = co_await connection.wait_readable()) {
      co_return std::unexpected(timeouts.explain(connection, error));
    }
    const IoStep step = connection.read(buffer);
    if (step.outcome == IoOutcome::failed) co_return std::unexpected(connection.failure());
    if (step.outcome == IoOutcome::closed) {
      co_return fail(FailureKind::reset, "the proxy closed the connection without an answer");
    }
    head.append(buffer.data(), step.size);
  }
  co_return head;
}

asio::awaitable<Outcome> open_tunnel(ClientConnection& connection, const Url& url,
                                     const Proxy& proxy, const FetchTimeouts& timeouts) {
  const std::string target = authority_of(url.host, url.port);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target);
  if (!proxy.authorization.empty()) {
    request += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
  }
  request += "\r\n";
  if (auto sent = co_await send_all(connection, request, timeouts); !sent) co_return sent;
  const auto head = co_await read_proxy_head(connection, timeouts);
  if (!head) co_return std::unexpected(head.error());
  const auto fault =
      find_head_fault(std::string_view(*head).substr(0, find_head_end(*head)), HeadKind::response);
  if (!fault.empty()) {
    co_return fail(FailureKind::malformed,
                   fmt::format("the proxy's answer is not HTTP: {}", fault));
  }
  const std::string status = head->substr(9, 3);
  if (status[0] != '2') {
    co_return fail(FailureKind::refused,
                   fmt::format("the proxy {} refused the way to {}: status {}", connection.peer(),
                               target, status));
  }
  if (find_head_end(*head) != head->size()) {
    co_return fail(FailureKind::malformed, "bytes follow the proxy's answer");
  }
  co_return Outcome{};
}

asio::awaitable<Outcome> start_tls(ClientConnection& connection, const Url& url, TlsContext& tls,
                                   const FetchTimeouts& timeouts) {
  auto stream = tls.connect(connection.socket().native_handle(), url.host);
  if (!stream) co_return fail(FailureKind::tls, stream.error());
  connection.secure(std::move(*stream));
  while (true) {
    const IoStep step = connection.handshake();
    if (step.outcome == IoOutcome::done) co_return Outcome{};
    if (step.outcome == IoOutcome::failed) co_return std::unexpected(connection.failure());
    if (const error_code error = co_await connection.wait_for(step.outcome)) {
      co_return std::unexpected(timeouts.explain(connection, error));
    }
  }
}

}  // namespace

asio::awaitable<std::expected<std::shared_ptr<ClientConnection>, FetchFailure>> dial(
    asio::io_context& context, OffloadPool& lookups, const Url& url,
    const std::optional<Proxy>& proxy, TlsContext* tls, FetchTimeouts& timeouts,
    const AddressGuard* guard) {
  const std::string& host = proxy ? proxy->host : url.host;
  const std::uint16_t port = proxy ? proxy->port : url.port;
  const auto connection = std::make_shared<ClientConnection>(context, authority_of(host, port));
  timeouts.begin(*connection, Phase::connect);
  Outcome outcome{};
  if (const auto addresses = co_await resolve(lookups, host, *connection, timeouts)) {
    outcome = check(host, *addresses, guard);
    if (outcome) outcome = co_await connect_to(*connection, *addresses, port, timeouts);
  } else {
    outcome = std::unexpected(addresses.error());
  }
  if (outcome && proxy && url.secure) {
    outcome = co_await open_tunnel(*connection, url, *proxy, timeouts);
  }
  if (outcome && url.secure) outcome = co_await start_tls(*connection, url, *tls, timeouts);
  if (outcome) co_return connection;
  connection->close();
  co_return std::unexpected(outcome.error());
}

}  // namespace treaty::http
