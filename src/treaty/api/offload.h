// Processes large request bodies on the offload pool. A large body delays its own client and does
// not block the event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <expected>
#include <type_traits>

#include "treaty/base/offload_pool.h"
#include "treaty/turns/refusals.h"

namespace treaty::api {

// A body of this size is decoded in less than 1 ms, in about 10 ms if it is made to be slow.
inline constexpr std::size_t kLargeBody = std::size_t{64} << 10U;

// What `work` answers; refused when too many wait already. It may touch nothing that the event loop
// changes meanwhile.
template <class Work>
boost::asio::awaitable<std::expected<std::invoke_result_t<Work&>, turns::Refusal>> offload(
    OffloadPool& pool, std::size_t body_bytes, Work work) {
  if (body_bytes <= kLargeBody) co_return work();
  auto result = co_await pool.run(std::move(work));
  if (result) co_return *std::move(result);
  co_return std::unexpected(turns::Refusal{
      turns::Reason::overloaded, "too many large requests are being read; try again soon"});
}

}  // namespace treaty::api
