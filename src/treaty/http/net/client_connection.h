// A client's connection, plain or TLS, and how long each part of a fetch may take on it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "treaty/base/offload_pool.h"
#include "treaty/http/client.h"
#include "treaty/http/net/channel.h"
#include "treaty/http/net/tls.h"
#include "treaty/http/proxy.h"

namespace treaty::http {

// "host:port", an IPv6 address in brackets.
std::string authority_of(const std::string& host, std::uint16_t port);

class ClientConnection final : public Channel {
 public:
  ClientConnection(boost::asio::io_context& context, std::string peer);

  const std::string& peer() const { return peer_; }

  bool is_secure() const { return tls_.has_value(); }
  void secure(TlsStream stream) { tls_ = std::move(stream); }
  IoStep handshake();

  IoStep read(std::span<char> buffer);
  IoStep write(std::string_view bytes);

  // Waits for what a step wants.
  boost::asio::awaitable<boost::system::error_code> wait_for(IoOutcome wanted);

  // Why the last step failed.
  const FetchFailure& failure() const { return failure_; }

  // The server has sent nothing and has not closed: fit to be used again. Takes a byte that has
  // come out of turn, so a connection that is not quiet must be closed.
  bool is_quiet();

  // Closes after the peer was told so, where TLS asks for it.
  void hang_up();

 private:
  IoStep fail(const boost::system::error_code& error);
  IoStep judged(IoStep step, FailureKind kind);

  std::string peer_;
  std::optional<TlsStream> tls_{};
  FetchFailure failure_{.kind = FailureKind::reset, .message = {}};
};

enum class Phase { connect, first_byte, idle };

// The timeouts of one fetch, held against a connection's one deadline.
class FetchTimeouts {
 public:
  explicit FetchTimeouts(const Timeouts& timeouts)
      : timeouts_(timeouts),
        total_end_(after(timeouts.total)),
        silence_end_(timeouts.first_piece ? after(*timeouts.first_piece) : SteadyTime::max()) {}

  // `phase` begins, or begins again.
  void begin(ClientConnection& connection, Phase phase);

  // What ResponseSink says by now. Takes effect when a phase begins.
  void note_progress(std::size_t pieces, bool is_whole);

  // Only the end of a message is still awaited, and not for long.
  void finish_soon(ClientConnection& connection);

  // When the present phase ends, at the latest.
  SteadyTime end() const { return end_; }

  // What to say when a wait on `connection` ended with `error`.
  FetchFailure explain(const ClientConnection& connection,
                       const boost::system::error_code& error) const;

 private:
  FetchFailure timeout(const ClientConnection& connection) const;

  Timeouts timeouts_;
  SteadyTime total_end_;
  SteadyTime silence_end_;  // Of the wait for the next piece.
  SteadyTime end_ = SteadyTime::max();
  std::size_t pieces_ = 0;
  bool is_whole_ = false;
  Phase phase_ = Phase::connect;
};

// Makes a connection: resolve, connect, tunnel through a proxy, TLS. Names are looked up on the
// threads of `lookups`. `tls` is used, and needed, for https alone. All of it counts as the phase
// `connect`. A host with an address that `guard` does not allow is not connected to.
boost::asio::awaitable<std::expected<std::shared_ptr<ClientConnection>, FetchFailure>> dial(
    boost::asio::io_context& context, OffloadPool& lookups, const Url& url,
    const std::optional<Proxy>& proxy, TlsContext* tls, FetchTimeouts& timeouts,
    const AddressGuard* guard = nullptr);

}  // namespace treaty::http
