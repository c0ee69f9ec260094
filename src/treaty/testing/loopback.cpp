#include "treaty/testing/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <cstring>
#include <future>
#include <utility>

namespace treaty::testing {
namespace {

sockaddr_storage address_of(std::string_view address, std::uint16_t port) {
  sockaddr_storage storage{};
  const std::string text(address);
  if (text.contains(':')) {
    auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    inet_pton(AF_INET6, text.c_str(), &six->sin6_addr);
  } else {
    auto* four = reinterpret_cast<sockaddr_in*>(&storage);
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    inet_pton(AF_INET, text.c_str(), &four->sin_addr);
  }
  return storage;
}

const sockaddr* generic(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr*>(&storage);
}

// A listening socket, or -1.
int listen_on(std::string_view address) {
  const sockaddr_storage storage = address_of(address, 0);
  const int listener = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  if (bind(listener, generic(storage), sizeof storage) == 0 && listen(listener, 64) == 0) {
    return listener;
  }
  close(listener);
  return -1;
}

std::uint16_t port_of(int listener) {
  sockaddr_in6 bound{};  // The port stands at the same place in both families.
  socklen_t size = sizeof bound;
  getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
  return ntohs(bound.sin6_port);
}

std::size_t announced_length(std::string_view head) {
  std::string folded(head);
  std::ranges::transform(folded, folded.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t at = folded.find("content-length:");
  return at == std::string::npos ? 0 : std::strtoul(folded.c_str() + at + 15, nullptr, 10);
}

}  // namespace

Peer::Peer(int descriptor) : descriptor_(descriptor) {
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Peer::~Peer() { close(); }

Peer::Peer(Peer&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), ahead_(std::move(other.ahead_)) {}

Peer Peer::connect(std::uint16_t port) {
  const sockaddr_storage storage = address_of("127.0.0.1", port);
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A failure shows in the first read of whoever called.
  [[maybe_unused]] const int connected =
      ::connect(descriptor, generic(storage), sizeof(sockaddr_in));
  return Peer(descriptor);
}

void Peer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string Peer::read_some() {
  if (!ahead_.empty()) return std::exchange(ahead_, {});
  std::array<char, 16384> buffer;  // NOLINT: filled by recv.
  const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), 0);
  return size <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(size));
}

std::string Peer::read_until(std::string_view end) {
  std::string all;
  while (!all.contains(end)) {
    const std::string piece = read_some();
    if (piece.empty()) return all;
    all += piece;
  }
  const std::size_t size = all.find(end) + end.size();
  ahead_ = all.substr(size);
  all.resize(size);
  return all;
}

std::string Peer::read_all() {
  std::string all;
  for (std::string piece = read_some(); !piece.empty(); piece = read_some()) all += piece;
  return all;
}

std::string Peer::read_request() {
  std::string request = read_until("\r\n\r\n");
  const std::size_t size = request.size() + announced_length(request);
  while (request.size() < size) {
    const std::string piece = read_some();
    if (piece.empty()) break;
    request += piece;
  }
  ahead_ = request.substr(std::min(size, request.size()));
  request.resize(std::min(size, request.size()));
  return request;
}

void Peer::end_sending() { shutdown(descriptor_, SHUT_WR); }

void Peer::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Peer::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

ScriptedServer::ScriptedServer(std::vector<Step> script, std::string_view address)
    : listener_(listen_on(address)) {
  if (listener_ < 0) return;
  port_ = port_of(listener_);
  thread_ = std::thread([listener = listener_, steps = std::move(script)] {
    for (const Step& step : steps) {
      const int descriptor = accept(listener, nullptr, nullptr);
      if (descriptor < 0) return;
      Peer peer(descriptor);
      step(peer);
    }
  });
}

ScriptedServer::~ScriptedServer() {
  if (listener_ < 0) return;
  shutdown(listener_, SHUT_RDWR);  // Wakes accept, when the script was not played to its end.
  thread_.join();
  close(listener_);
}

std::uint16_t closed_port() {
  const int listener = listen_on("127.0.0.1");
  const std::uint16_t port = port_of(listener);
  close(listener);
  return port;
}

ServerThread::ServerThread(http::Handler handler, http::ServerOptions options)
    : server_(context_, std::move(handler), options) {
  port_ = server_.listen("127.0.0.1", 0).value_or(0);
  thread_ = std::thread([this] { context_.run(); });
}

ServerThread::~ServerThread() {
  context_.stop();
  thread_.join();
}

void ServerThread::on_loop(const std::function<void(http::Server&)>& action) {
  std::promise<void> done;
  boost::asio::post(context_, [&] {
    action(server_);
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace treaty::testing
