// The gateway: one store, one engine, and as many workers as there are cores, each with its own
// event loop, acceptor, connections and backends.
#pragma once

#include <expected>
#include <memory>

#include "treaty/cli/gateway.h"

namespace treaty::app {

std::expected<std::unique_ptr<cli::Gateway>, Error> open_gateway(
    const config::Configuration& configuration);

}  // namespace treaty::app
