// Runs a coroutine on an event loop until it has its outcome, for tests.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace treaty::testing {

template <class T>
T await(boost::asio::io_context& context, boost::asio::awaitable<T> task) {
  std::optional<T> outcome;
  std::exception_ptr thrown;
  boost::asio::co_spawn(context, std::move(task), [&](const std::exception_ptr& failure, T value) {
    thrown = failure;
    outcome.emplace(std::move(value));
  });
  context.restart();
  while (!outcome && context.run_one() > 0) {
  }
  if (thrown) std::rethrow_exception(thrown);
  return std::move(outcome).value();
}

}  // namespace treaty::testing
