// The answer of every call of a store: it completes on the caller's event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>

#include "treaty/base/error.h"

namespace treaty::store {

template <class T>
using Task = boost::asio::awaitable<std::expected<T, Error>>;

}  // namespace treaty::store
