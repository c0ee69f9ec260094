// Makes a connection: resolve, connect, tunnel through a proxy, TLS.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <memory>
#include <optional>

#include "treaty/base/offload_pool.h"
#include "treaty/http/net/client_connection.h"
#include "treaty/http/proxy.h"

namespace treaty::http {

// Names are looked up on the threads of `lookups`. `tls` is used, and needed, for https alone. All
// of it counts as the phase `connect`. A host with an address that `guard` does not allow is not
// connected to.
boost::asio::awaitable<std::expected<std::shared_ptr<ClientConnection>, FetchFailure>> dial(
    boost::asio::io_context& context, OffloadPool& lookups, const Url& url,
    const std::optional<Proxy>& proxy, TlsContext* tls, Patience& patience,
    const AddressGuard* guard = nullptr);

}  // namespace treaty::http
