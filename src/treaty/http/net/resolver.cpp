#include "treaty/http/net/resolver.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/this_coro.hpp>
#include <cstring>
#include <memory>

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

// What a thread of the pool and the coroutine share.
struct Lookup {
  std::expected<Addresses, std::string> answer{};  // The thread's until it is done.
  std::atomic<bool> is_done = false;
};

}  // namespace

asio::awaitable<std::expected<Addresses, std::string>> resolve(OffloadPool& pool, std::string host,
                                                               Channel& channel) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) co_return Addresses{address};
  const auto lookup = std::make_shared<Lookup>();
  const bool is_taken = pool.post([lookup, host, waker = channel.waiter().waker()] {
    lookup->answer = ask_system(host);
    lookup->is_done = true;
    waker->notify();
  });
  if (!is_taken) co_return std::unexpected("too many names are being looked up");
  while (true) {
    co_await channel.sleep();
    if (lookup->is_done) co_return std::move(lookup->answer);
    const auto state = co_await asio::this_coro::cancellation_state;
    const bool cancelled = state.cancelled() != asio::cancellation_type::none;
    if (cancelled || channel.expired()) co_return std::unexpected("");
  }
}

}  // namespace treaty::http
