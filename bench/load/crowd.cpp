#include "bench/load/crowd.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// Nothing that is measured is silent for so long.
constexpr int kPatienceMilliseconds = 30'000;

int connect_to(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(descriptor);
    return -1;
  }
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const timeval patience{.tv_sec = kPatienceMilliseconds / 1'000, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return descriptor;
}

bool send_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// How long the answer at the start of `bytes` is; 0 while that is not known or it is not whole.
std::size_t whole_answer(std::string_view bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  constexpr std::string_view kLength = "content-length: ";
  const std::size_t at = bytes.substr(0, head).find(kLength);
  if (at == std::string_view::npos) return 0;
  const std::size_t body = std::strtoul(bytes.data() + at + kLength.size(), nullptr, 10);
  return bytes.size() >= head + 4 + body ? head + 4 + body : 0;
}

struct Client {
  int descriptor = -1;
  int number = 0;
  std::string in{};
  Clock::time_point asked{};
};

// One run of a load.
class Runner {
 public:
  Runner(const Load& load, Ran& ran) : load_(load), ran_(ran), epoll_(epoll_create1(0)) {}
  ~Runner() {
    for (const Client& client : clients_) {
      if (client.descriptor >= 0) close(client.descriptor);
    }
    close(epoll_);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void run(std::uint16_t port) {
    clients_.resize(static_cast<std::size_t>(load_.clients));
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      clients_[i].descriptor = connect_to(port);
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].descriptor, &event);
    }
    const auto start = Clock::now();
    for (std::size_t i = 0; i < clients_.size(); ++i) ask(i);
    while (ran_.answered + ran_.failed < asked_ && take_events()) {
    }
    ran_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    ran_.failed = asked_ - ran_.answered;
    std::ranges::sort(ran_.microseconds);
  }

 private:
  void ask(std::size_t index) {
    if (asked_ >= load_.requests) return;
    ++asked_;
    Client& client = clients_[index];
    const std::string request = load_.request(static_cast<int>(index), client.number++);
    client.asked = Clock::now();
    if (!send_all(client.descriptor, request)) fail(client, "the connection broke");
  }

  void fail(Client& client, std::string_view why) {
    ++ran_.failed;
    if (ran_.first_failure.empty()) ran_.first_failure = why;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, client.descriptor, nullptr);
  }

  bool take_events() {
    std::array<epoll_event, 64> events;  // NOLINT: filled by epoll_wait.
    const int count = epoll_wait(epoll_, events.data(), events.size(), kPatienceMilliseconds);
    if (count <= 0 && ran_.first_failure.empty()) ran_.first_failure = "no answer came";
    for (int i = 0; i < count; ++i) take(events[static_cast<std::size_t>(i)].data.u64);
    return count > 0;
  }

  void take(std::size_t index) {
    Client& client = clients_[index];
    std::array<char, 65536> buffer;  // NOLINT: filled by recv.
    const ssize_t size = recv(client.descriptor, buffer.data(), buffer.size(), 0);
    if (size <= 0) return fail(client, "the connection closed");
    client.in.append(buffer.data(), static_cast<std::size_t>(size));
    const std::size_t length = whole_answer(client.in);
    if (length == 0) return;
    if (!client.in.starts_with("HTTP/1.1 200")) return fail(client, client.in);
    ran_.microseconds.push_back(
        std::chrono::duration<double, std::micro>(Clock::now() - client.asked).count());
    client.in.erase(0, length);
    ++ran_.answered;
    if (load_.mark > 0 && ran_.answered % load_.mark == 0) load_.at_mark(ran_.answered);
    ask(index);
  }

  const Load& load_;
  Ran& ran_;
  int epoll_;
  int asked_ = 0;
  std::vector<Client> clients_{};
};

}  // namespace

std::string post(std::string_view path, std::string_view body) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      path, body.size(), body);
}

double Ran::percentile(double share) const {
  if (microseconds.empty()) return 0;
  return microseconds[static_cast<std::size_t>(share *
                                               static_cast<double>(microseconds.size() - 1))];
}

Ran run(std::uint16_t port, const Load& load) {
  Ran ran;
  Runner(load, ran).run(port);
  return ran;
}

IdleStreams::IdleStreams(std::uint16_t port, int count,
                         const std::function<std::string(int)>& request) {
  constexpr int kBatch = 100;  // So many ask at a time.
  for (int first = 0; first < count; first += kBatch) {
    const int last = std::min(first + kBatch, count);
    for (int i = first; i < last; ++i) {
      descriptors_.push_back(connect_to(port));
      send_all(descriptors_.back(), request(i));
    }
    for (int i = first; i < last; ++i) {
      std::array<char, 4096> buffer;  // NOLINT: filled by recv.
      const ssize_t size =
          recv(descriptors_[static_cast<std::size_t>(i)], buffer.data(), buffer.size(), 0);
      if (size > 0 && std::string_view(buffer.data(), static_cast<std::size_t>(size))
                          .starts_with("HTTP/1.1 200")) {
        ++begun_;
      }
    }
  }
}

IdleStreams::~IdleStreams() {
  for (const int descriptor : descriptors_) {
    if (descriptor >= 0) close(descriptor);
  }
}

}  // namespace bench
