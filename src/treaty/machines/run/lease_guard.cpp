#include "treaty/machines/run/lease_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "treaty/base/try.h"

namespace treaty::machines {

namespace asio = boost::asio;

LeaseGuard::LeaseGuard(store::MachineStore& store, Timeline& timeline, std::string execution,
                       std::int64_t token, double expires, asio::any_io_executor executor)
    : store_(store),
      timeline_(timeline),
      execution_(std::move(execution)),
      token_(token),
      expires_(expires),
      executor_(std::move(executor)) {}

LeaseGuard::LeaseGuard(LeaseGuard&& other) noexcept
    : store_(other.store_),
      timeline_(other.timeline_),
      execution_(std::move(other.execution_)),
      token_(other.token_),
      expires_(other.expires_),
      state_(std::exchange(other.state_, State::released)),
      executor_(std::move(other.executor_)) {}

LeaseGuard::~LeaseGuard() {
  if (state_ != State::held) return;
  // The store is asked when the loop gets there, never when the loop itself is destroyed.
  const auto release = [](store::MachineStore& store, std::string execution,
                          std::int64_t token) -> asio::awaitable<void> {
    (void)co_await store.release(std::move(execution), token);
  };
  asio::co_spawn(executor_, release(store_, std::move(execution_), token_), asio::detached);
}

asio::awaitable<std::expected<LeaseGuard, Error>> LeaseGuard::acquire(store::MachineStore& store,
                                                                      Timeline& timeline,
                                                                      std::string execution) {
  const double expires = timeline.now() + kLeaseTerm;
  TREATY_CO_TRY(const store::Lease lease, co_await store.acquire(execution));
  co_return LeaseGuard(store, timeline, std::move(execution), lease.token, expires,
                       co_await asio::this_coro::executor);
}

std::expected<void, Error> LeaseGuard::check() const {
  if (state_ != State::lost) return {};
  return std::unexpected(
      Error{.code = ErrorCode::conflict,
            .message = fmt::format("The lease of the execution '{}' was lost: it could not be "
                                   "renewed, or another runner has taken it.",
                                   execution_)});
}

asio::awaitable<void> LeaseGuard::keep_renewed() {
  double pause = kRenewalInterval;
  double retry = kShortestRetry;
  while (state_ == State::held && co_await timeline_.wait(pause)) {
    const double now = timeline_.now();
    const auto renewed = co_await store_.renew(execution_, token_);
    if (renewed) {
      expires_ = now + kLeaseTerm;
      pause = kRenewalInterval;
      retry = kShortestRetry;
      continue;
    }
    const double left = expires_ - timeline_.now();
    if (renewed.error().code == ErrorCode::conflict || left <= 0) {
      if (state_ == State::held) state_ = State::lost;
      co_return;
    }
    pause = std::min(retry, left);
    retry = std::min(retry * 2, kLongestRetry);
  }
}

asio::awaitable<void> LeaseGuard::release() {
  if (std::exchange(state_, is_lost() ? State::lost : State::released) != State::held) co_return;
  (void)co_await store_.release(execution_, token_);
}

}  // namespace treaty::machines
