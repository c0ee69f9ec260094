// An HTTP/1.1 server for one event loop. A handler is a coroutine that gets one Exchange at a time
// and connection.
//
// A Server belongs to the thread that runs its io_context.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"
#include "treaty/http/message.h"
#include "treaty/http/wire/body_memory.h"

namespace treaty::http {

// One request and the way to answer it. All writes answer false when the client is gone.
//
//   boost::asio::awaitable<void> handle(http::Exchange& exchange) {
//     if (exchange.request().method == "GET") co_return co_await show(exchange);
//     if (!co_await exchange.begin(200, {{"content-type", "text/plain"}})) co_return;
//     while (const auto line = co_await next_line()) {
//       if (!co_await exchange.write(*line)) co_return;  // The client has gone.
//     }
//     co_await exchange.end();
//   }
//
// Belongs to the thread of its server's event loop, and to the one coroutine that handles it.
// Line breaks in header values become spaces. A handler that returns without an answer, or throws
// before one began, has 500 answered; one that returns between begin and end breaks the connection,
// so that nobody takes the answer for a whole one.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;

  // The request, to keep or to drop; request() holds nothing of it afterwards. For a handler that
  // waits long.
  virtual Request take_request() = 0;

  // The whole answer; adds Content-Length, Date and Connection (`connection: close` is obeyed).
  virtual boost::asio::awaitable<bool> respond(Response response) = 0;

  // An answer in pieces (chunked): begin once, write any number of times, end once.
  virtual boost::asio::awaitable<bool> begin(int status, Headers headers) = 0;
  virtual boost::asio::awaitable<bool> write(std::string_view bytes) = 0;
  virtual boost::asio::awaitable<bool> end() = 0;

  // For faults: bytes as they are, outside all framing. The connection closes after the exchange.
  virtual boost::asio::awaitable<bool> write_raw(std::string_view bytes) = 0;

  // Closes the connection now; with `reset`, by RST.
  virtual void abort(bool reset) = 0;

  // Returns when the client has gone: closed or reset the connection, or half of it. For a handler
  // that waits: `co_await (work() || exchange.closed())`. One at a time, and not during a write.
  virtual boost::asio::awaitable<void> closed() = 0;

  // The same for many handlers that wait long, without a coroutine of its own: what this handler
  // waits for from now on is cut short (Asio cancels it) when the connection breaks, also when the
  // client closes its half of it, or also when the server stops. Nothing throws because of it; ask
  // is_wanted() before waiting again.
  enum class Until { connection_breaks, client_goes, server_stops };
  virtual void interrupt_when(Until until) = 0;

  // False when the client is known to have gone, or what interrupt_when() named has come.
  virtual bool is_wanted() const = 0;
};

class ServerState;

using Handler = std::function<boost::asio::awaitable<void>(Exchange&)>;

// What servers count together, each against its own limits. For any thread.
struct ServerLoad {
  std::atomic<std::size_t> connections = 0;
  BodyMemory bodies{};
};

struct ServerOptions {
  // Shares the port of another Server, which listens already: each event loop of a program can have
  // its own, and the kernel spreads the connections.
  bool reuse_port = false;

  // Shared with those other servers, so that limits hold for all of them together. None: its own.
  std::shared_ptr<ServerLoad> load{};

  std::size_t max_header_bytes = std::size_t{64} << 10U;
  std::size_t max_body_bytes = std::size_t{16} << 20U;
  std::size_t max_body_memory = std::size_t{256} << 20U;  // All bodies beyond 64 KiB.
  std::size_t max_connections = 10'000;
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds idle_timeout{60'000};   // Between two requests.
  std::chrono::milliseconds write_timeout{30'000};  // A client that takes nothing.

  // Looks at the head of a request whose body has not come whole, before 100 Continue is said and
  // the body is waited for; an answer refuses it, and the connection closes. None: all are wanted.
  std::function<std::optional<Response>(const Request& head)> admit{};

  // Writes what the server itself refuses. None: a small JSON object.
  std::function<Response(int status, std::string_view message)> refusal{};
};

// Refuses what has two readings with 400, too large a header with 431, too large a body with 413,
// an unknown expectation with 417, a request that does not arrive in time with 408, a connection
// too many and a body that finds no memory with 503; then closes. A handler that fails has 500
// answered.
class Server {
 public:
  Server(boost::asio::io_context& context, Handler handler, ServerOptions options = {});

  // Closes every connection; handlers that still run find their client gone.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on `address` (an IP address) and `port` (0: a free one) and answers the port.
  std::expected<std::uint16_t, Error> listen(const std::string& address, std::uint16_t port);

  // Accepts no more and closes idle connections; running exchanges go on to their end, but for
  // those that asked to be interrupted.
  void stop();

  // The end of what stop() began: who still waits for the head of an answer is told 503, and every
  // connection closes.
  void abandon();

  // Other limits, for what comes from now on; reuse_port and load stay.
  void configure(ServerOptions options);

  // Connections that are open now. After stop() it falls to 0.
  std::size_t connections() const;

 private:
  std::shared_ptr<ServerState> state_;
};

}  // namespace treaty::http
