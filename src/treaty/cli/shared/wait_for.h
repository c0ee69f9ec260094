// A store's answer for a command, which has no event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <expected>
#include <type_traits>
#include <utility>

#include "treaty/base/error.h"
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
  if (!answer) return std::unexpected(failure_of(answer.error()));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(answer);
  }
}

}  // namespace treaty::cli
