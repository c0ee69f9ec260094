// Both ends of a connection on loopback, for tests: a plain blocking socket that says exactly the
// bytes it is told to, a server that plays a script with it, and our own server on a thread.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "treaty/http/server.h"

namespace treaty::testing {

// One end of a TCP connection. Waits at most ten seconds for anything.
class Peer {
 public:
  explicit Peer(int descriptor);
  ~Peer();
  Peer(Peer&& other) noexcept;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  Peer& operator=(Peer&&) = delete;

  static Peer connect(std::uint16_t port);

  void send(std::string_view bytes);
  std::string read_some();                       // Empty at the end.
  std::string read_until(std::string_view end);  // Up to and with `end`, or to the end.
  std::string read_all();
  std::string read_request();  // A head, and the body that its Content-Length announces.
  void end_sending();
  void close();
  void reset();
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::string ahead_{};
};

// Accepts one connection per step of the script, one after the other, on a thread of its own.
class ScriptedServer {
 public:
  using Step = std::function<void(Peer&)>;
  explicit ScriptedServer(std::vector<Step> script, std::string_view address = "127.0.0.1");
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::uint16_t port() const { return port_; }

  // 0 when the address cannot be listened on (a machine without IPv6).
  bool is_listening() const { return port_ != 0; }

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_{};
};

// A port of loopback that nobody listens on.
std::uint16_t closed_port();

// Our server with its own event loop.
class ServerThread {
 public:
  explicit ServerThread(http::Handler handler, http::ServerOptions options = {});
  ~ServerThread();
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  std::uint16_t port() const { return port_; }

  // Runs `action` on the server's thread and waits for it.
  void on_loop(const std::function<void(http::Server&)>& action);

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(context_);  // on_loop() works after the server has stopped.
  http::Server server_;
  std::uint16_t port_ = 0;
  std::thread thread_{};
};

}  // namespace treaty::testing
