// A place beside the event loop for work on large bodies: whoever sends one waits, nobody else
// does.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <optional>
#include <type_traits>

namespace treaty::api {

// Belongs to the thread of one event loop, which outlives it.
class Desk {
 public:
  // What `work` answers. It runs on another thread when a body of `bytes` is large: it may touch
  // nothing that the event loop changes meanwhile.
  template <class Work>
  boost::asio::awaitable<std::invoke_result_t<Work&>> run(std::size_t bytes, Work work) {
    if (bytes <= kLargeBody) co_return work();
    if (!thread_) thread_.emplace(1);
    std::optional<std::invoke_result_t<Work&>> result;
    co_await boost::asio::co_spawn(
        *thread_,
        [&]() -> boost::asio::awaitable<void> {
          result.emplace(work());
          co_return;
        },
        boost::asio::use_awaitable);
    co_return std::move(*result);
  }

 private:
  // Read in less than a millisecond when it is in order, in some ten when it is made to be slow.
  static constexpr std::size_t kLargeBody = std::size_t{64} << 10U;

  std::optional<boost::asio::thread_pool> thread_{};  // Of one; none until there is work for it.
};

}  // namespace treaty::api
