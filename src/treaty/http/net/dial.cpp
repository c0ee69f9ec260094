#include "treaty/http/net/dial.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "treaty/http/net/address_guard.h"
#include "treaty/http/net/resolver.h"
#include "treaty/http/wire/message_head.h"

namespace treaty::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Outcome = std::expected<void, FetchFailure>;

namespace {

constexpr std::size_t kMaxProxyHead = std::size_t{16} << 10U;

std::unexpected<FetchFailure> fail(FailureKind kind, std::string message) {
  return std::unexpected(FetchFailure{.kind = kind, .message = std::move(message)});
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
                                    std::uint16_t port, const Patience& patience) {
  FetchFailure failure{.kind = FailureKind::refused, .message = "no address to connect to"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto now = std::chrono::steady_clock::now();
    const bool is_last = i + 1 == addresses.size();
    const auto share = (patience.end() - now) / static_cast<std::int64_t>(addresses.size() - i);
    connection.set_deadline(is_last ? patience.end() : now + share);
    error_code error;
    co_await connection.socket().async_connect(tcp::endpoint(addresses[i], port),
                                               asio::redirect_error(asio::use_awaitable, error));
    if (!error && connection.socket().is_open()) {
      connection.set_deadline(patience.end());
      connection.prepare();
      co_return Outcome{};
    }
    const bool ran_out = std::chrono::steady_clock::now() >= patience.end();
    if (is_last || ran_out || (error == asio::error::operation_aborted && !connection.expired())) {
      if (connection.expired() || error == asio::error::operation_aborted) {
        co_return std::unexpected(patience.explain(connection, error));
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
                                  const Patience& patience) {
  while (!bytes.empty()) {
    const IoStep step = connection.write(bytes);
    if (step.outcome == IoOutcome::done) {
      bytes.remove_prefix(step.size);
    } else if (step.outcome == IoOutcome::failed) {
      co_return std::unexpected(connection.failure());
    } else if (const error_code error = co_await connection.wait_for(step.outcome)) {
      co_return std::unexpected(patience.explain(connection, error));
    }
  }
  co_return Outcome{};
}

// The proxy's whole answer to CONNECT is a head; the server behind it speaks only when spoken to.
asio::awaitable<std::expected<std::string, FetchFailure>> read_proxy_head(
    ClientConnection& connection, const Patience& patience) {
  std::string head;
  std::array<char, 2048> buffer{};
  while (find_head_end(head) == std::string::npos) {
    if (head.size() > kMaxProxyHead) {
      co_return fail(FailureKind::too_large, "the header of the proxy's answer is too large");
    }
    if (const error_code error = co_await connection.wait_readable()) {
      co_return std::unexpected(patience.explain(connection, error));
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
                                     const Proxy& proxy, const Patience& patience) {
  const std::string target = authority_of(url.host, url.port);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target);
  if (!proxy.authorization.empty()) {
    request += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
  }
  request += "\r\n";
  if (auto sent = co_await send_all(connection, request, patience); !sent) co_return sent;
  const auto head = co_await read_proxy_head(connection, patience);
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

asio::awaitable<Outcome> shake_hands(ClientConnection& connection, const Url& url, TlsContext& tls,
                                     const Patience& patience) {
  auto stream = tls.connect(connection.socket().native_handle(), url.host);
  if (!stream) co_return fail(FailureKind::tls, stream.error());
  connection.secure(std::move(*stream));
  while (true) {
    const IoStep step = connection.handshake();
    if (step.outcome == IoOutcome::done) co_return Outcome{};
    if (step.outcome == IoOutcome::failed) co_return std::unexpected(connection.failure());
    if (const error_code error = co_await connection.wait_for(step.outcome)) {
      co_return std::unexpected(patience.explain(connection, error));
    }
  }
}

}  // namespace

asio::awaitable<std::expected<std::shared_ptr<ClientConnection>, FetchFailure>> dial(
    asio::io_context& context, OffloadPool& lookups, const Url& url,
    const std::optional<Proxy>& proxy, TlsContext* tls, Patience& patience,
    const AddressGuard* guard) {
  const std::string& host = proxy ? proxy->host : url.host;
  const std::uint16_t port = proxy ? proxy->port : url.port;
  const auto connection = std::make_shared<ClientConnection>(context, authority_of(host, port));
  patience.begin(*connection, Phase::connect);
  const auto addresses = co_await resolve(lookups, host, *connection);
  if (!addresses && addresses.error().empty()) {
    const FetchFailure failure = patience.explain(*connection, asio::error::operation_aborted);
    connection->close();
    co_return std::unexpected(failure);
  }
  Outcome outcome{};
  if (addresses) {
    outcome = check(host, *addresses, guard);
    if (outcome) outcome = co_await connect_to(*connection, *addresses, port, patience);
  } else {
    outcome = fail(FailureKind::bad_address, addresses.error());
  }
  if (outcome && proxy && url.secure) {
    outcome = co_await open_tunnel(*connection, url, *proxy, patience);
  }
  if (outcome && url.secure) outcome = co_await shake_hands(*connection, url, *tls, patience);
  if (outcome) co_return connection;
  connection->close();
  co_return std::unexpected(outcome.error());
}

}  // namespace treaty::http
