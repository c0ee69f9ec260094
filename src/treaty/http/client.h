// An HTTP/1.1 client for one event loop: keeps connections, never follows a redirect.
//
// A Client belongs to the thread that runs its io_context. Many fetches may run at once. Cancelling
// the coroutine (Asio's cancellation slots) closes the connection at once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/http/message.h"
#include "treaty/http/proxy.h"
#include "treaty/http/url.h"

namespace treaty::http {

class AddressGuard;

enum class FailureKind {
  bad_address,  // The name does not resolve, or URL, header or proxy make no sense.
  refused,      // Nobody accepts connections there.
  reset,        // The connection broke: reset, or closed before the answer was whole.
  tls,          // The handshake failed or the certificate does not verify.
  timeout,      // One of the timeouts; FetchFailure::timeout and the message say which.
  too_large,    // The answer or its header is larger than allowed.
  malformed,    // The answer is not HTTP, or its coding cannot be undone.
  cancelled,    // The caller does not want it any more.
};

enum class Timeout { none, connect, first_byte, idle, total, first_piece, stall };

struct FetchFailure {
  FailureKind kind;
  std::string message;
  Timeout timeout = Timeout::none;
};

inline std::unexpected<FetchFailure> fail(FailureKind kind, std::string message) {
  return std::unexpected(FetchFailure{kind, std::move(message)});
}

struct Timeouts {
  std::chrono::milliseconds connect{10'000};      // Resolve, connect, proxy, TLS handshake.
  std::chrono::milliseconds first_byte{120'000};  // From the sent request to the answer's head.
  std::chrono::milliseconds idle{120'000};        // Between two pieces of the answer.
  std::chrono::milliseconds total{600'000};       // All of it.

  // For the pieces that the sink counts: from the start of the fetch to the first one, and between
  // two of them.
  std::optional<std::chrono::milliseconds> first_piece{};
  std::optional<std::chrono::milliseconds> stall{};
};

struct FetchOptions {
  Timeouts timeouts{};
  std::size_t max_header_bytes = std::size_t{64} << 10U;
  std::size_t max_body_bytes = std::size_t{32} << 20U;  // After decompression.
};

// Takes an answer as it comes.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;

  // Once, before any body. `head.body` is empty.
  virtual void on_head(const Response& head) = 0;

  // A piece of the body, decoded (chunks, gzip). False: enough; the fetch ends well here.
  virtual bool on_body(std::string_view bytes) = 0;

  // True when no byte that may follow matters: the fetch waits a moment for the end of the message,
  // so that the connection can be kept, and then ends well without it.
  virtual bool is_satisfied() const { return false; }

  // How many pieces of an answer have come, as opposed to bytes that only keep the connection
  // alive. For Timeouts::first_piece and Timeouts::stall.
  virtual std::size_t pieces() const { return 0; }

  // The answer is whole, though something may still follow, such as what it cost: the fetch waits
  // for that for a short time only.
  virtual bool is_whole() const { return false; }
};

struct ClientOptions {
  std::string ca_file{};               // More trusted certificates (PEM), beside the system's.
  bool proxy_from_environment = true;  // HTTPS_PROXY, http_proxy, NO_PROXY.
  std::size_t max_idle_connections = 64;
  std::chrono::seconds keep_alive{30};    // Older ones are closed when the client is used again.
  std::optional<ProxyVariables> proxy{};  // In place of the environment's.

  // Null: every address may be connected to. With one there is no proxy: it would look up names
  // itself.
  std::shared_ptr<const AddressGuard> guard{};
};

// Outlives its fetches, as `url` and `sink` outlive theirs. Never throws; a cancelled fetch has the
// outcome `cancelled`. Connections that it keeps for the next fetch keep no event loop running;
// they are closed with it.
class Client {
 public:
  explicit Client(boost::asio::io_context& context, ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends `request` to `url` (whose target replaces the request's) and gives the answer to `sink`,
  // whatever its status. Adds Host, Content-Length, Accept-Encoding. A kept connection that the
  // server has closed is replaced before the request is written. A request is written once: when
  // its connection breaks afterwards, the server may have acted on it, and the fetch fails.
  boost::asio::awaitable<std::expected<void, FetchFailure>> fetch(const Url& url, Request request,
                                                                  FetchOptions options,
                                                                  ResponseSink& sink);

  // The same, with the whole answer at the end.
  boost::asio::awaitable<std::expected<Response, FetchFailure>> fetch_all(
      const Url& url, Request request, FetchOptions options = {});

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace treaty::http
