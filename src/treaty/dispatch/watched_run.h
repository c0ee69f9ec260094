// Runs a call on a backend that has no timeouts of its own, and ends it when nothing comes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>

#include "treaty/backends/backend.h"
#include "treaty/base/clock.h"
#include "treaty/dispatch/policy.h"

namespace treaty::dispatch {

struct SilenceLimits {
  std::optional<Seconds> first_token{};  // To the first text or progress.
  std::optional<Seconds> stall{};        // Between two of them.
};

// Cancels the run when a limit has passed; the result is then a `timeout`.
boost::asio::awaitable<contracts::AgentResult> run_watched(backends::Backend& backend,
                                                           const backends::Call& call,
                                                           backends::Sink& sink, Clock& clock,
                                                           SilenceLimits limits);

}  // namespace treaty::dispatch
