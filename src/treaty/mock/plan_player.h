// Plays a plan to whoever asked.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "treaty/http/server.h"
#include "treaty/mock/plan.h"

namespace treaty::mock {

// Returns when the answer is over or the client has gone.
boost::asio::awaitable<void> play(Plan plan, http::Exchange& exchange);

}  // namespace treaty::mock
