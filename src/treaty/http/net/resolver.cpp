#include "treaty/http/net/resolver.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace treaty::http {

namespace asio = boost::asio;

namespace {

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

// What the thread and the coroutine share.
struct Question {
  std::mutex mutex;
  Channel* asker;  // Null when nobody waits any more.
  std::optional<std::expected<Addresses, std::string>> answer{};
};

// While the asker is there its event loop is, too: the lock keeps it from leaving meanwhile.
void put_answer(const std::shared_ptr<Question>& question,
                std::expected<Addresses, std::string> answer) {
  const std::lock_guard lock(question->mutex);
  if (question->asker == nullptr) return;
  question->answer = std::move(answer);
  asio::post(question->asker->socket().get_executor(), [question] {
    const std::lock_guard held(question->mutex);
    if (question->asker != nullptr) question->asker->wake_up();
  });
}

// Leaves the question, also when the coroutine is destroyed while it sleeps.
struct Leaving {
  std::shared_ptr<Question> question;
  explicit Leaving(std::shared_ptr<Question> left) : question(std::move(left)) {}
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() {
    const std::lock_guard lock(question->mutex);
    question->asker = nullptr;
  }
};

bool begin_asking(const std::shared_ptr<Question>& question, const std::string& host) {
  try {
    std::thread([question, host] { put_answer(question, ask_system(host)); }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;  // No more threads.
  }
}

}  // namespace

asio::awaitable<std::expected<Addresses, std::string>> resolve(std::string host, Channel& channel) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) co_return Addresses{address};
  const auto question = std::make_shared<Question>();
  question->asker = &channel;
  const Leaving leaving(question);
  if (!begin_asking(question, host)) co_return std::unexpected("no thread to resolve a name with");
  const auto answer = [&question] {
    const std::lock_guard lock(question->mutex);
    return question->answer;
  };
  while (true) {
    co_await channel.sleep();
    if (auto known = answer()) co_return std::move(*known);
    const auto state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (cancelled || channel.expired()) co_return std::unexpected("");
  }
}

}  // namespace treaty::http
