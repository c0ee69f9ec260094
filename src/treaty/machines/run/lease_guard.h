// The lease of an execution, held while it runs (machines.md section 9).
//
//   auto lease = co_await LeaseGuard::acquire(store, timeline, "x");
//   if (!lease) co_return lost(lease.error());           // Another runner has the execution.
//   co_await timeline.alongside(run, [&] { return lease->keep_renewed(); });
//   co_await lease->release();                           // Nothing to do if a write released it.
//
// Thread rule: belongs to the event loop on which it was acquired.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <expected>
#include <string>

#include "treaty/base/error.h"
#include "treaty/machines/run/timeline.h"
#include "treaty/store/machines.h"

namespace treaty::machines {

// Seconds.
constexpr double kLeaseTerm = 300;        // How long an acquired or renewed lease is valid.
constexpr double kRenewalInterval = 100;  // Between two renewals that succeed.
constexpr double kShortestRetry = 1;      // After a renewal that failed; doubles each time,
constexpr double kLongestRetry = 30;      // up to this.

// Move-only. A guard that is destroyed while it holds the lease, as by a cancelled coroutine,
// releases it in the background: the store has to outlive the event loop.
class LeaseGuard {
 public:
  static boost::asio::awaitable<std::expected<LeaseGuard, Error>> acquire(
      store::MachineStore& store, Timeline& timeline, std::string execution);

  LeaseGuard(LeaseGuard&& other) noexcept;
  LeaseGuard& operator=(LeaseGuard&&) = delete;
  ~LeaseGuard();

  const std::string& execution() const { return execution_; }
  std::int64_t token() const { return token_; }

  // `conflict` once the lease is lost: nothing may be written any more.
  std::expected<void, Error> check() const;
  bool is_lost() const { return state_ == State::lost; }

  // Renews until it is cancelled or the lease is lost. A renewal that fails is tried again until
  // the lease expires; one that the store refuses (`conflict`) says that it is lost.
  boost::asio::awaitable<void> keep_renewed();

  // Releases the lease unless it is lost or released.
  boost::asio::awaitable<void> release();

  // What a write with the token has shown.
  void mark_released() { state_ = State::released; }
  void mark_lost() { state_ = State::lost; }

 private:
  enum class State : std::uint8_t { held, lost, released };

  LeaseGuard(store::MachineStore& store, Timeline& timeline, std::string execution,
             std::int64_t token, double expires, boost::asio::any_io_executor executor);

  store::MachineStore& store_;
  Timeline& timeline_;
  std::string execution_;
  std::int64_t token_;
  double expires_;  // Moment of the timeline.
  State state_ = State::held;
  boost::asio::any_io_executor executor_;
};

}  // namespace treaty::machines
