// Names to addresses without holding up the event loop.
//
// The system's resolver cannot be interrupted. It runs on a thread of a pool that abandons its
// work: a caller whose deadline has come goes on without the answer, which is dropped.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <expected>
#include <string>
#include <vector>

#include "treaty/base/offload_pool.h"
#include "treaty/http/net/channel.h"

namespace treaty::http {

using Addresses = std::vector<boost::asio::ip::address>;

// The addresses of `host`, in the order to try them; at least one. Sleeps on `channel`, whose
// deadline or cancellation ends it with an empty error. An address resolves to itself at once.
boost::asio::awaitable<std::expected<Addresses, std::string>> resolve(OffloadPool& pool,
                                                                      std::string host,
                                                                      Channel& channel);

}  // namespace treaty::http
