// A store's answer for a command, which has no event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <expected>
#include <utility>

#include "treaty/base/error.h"
#include "treaty/base/try.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli {

// On an event loop of this call. `failure_of` says what the command makes of an Error.
template <class T>
Result<T> wait_for(boost::asio::awaitable<std::expected<T, Error>> task,
                   CommandFailure (&failure_of)(const Error&)) {
  boost::asio::io_context loop(1);
  std::expected<T, Error> answer{};
  boost::asio::co_spawn(
      loop, std::move(task),
      [&](const std::exception_ptr&, std::expected<T, Error> done) { answer = std::move(done); });
  loop.run();
  return map_error(std::move(answer), failure_of);
}

}  // namespace treaty::cli
