// The backends of one worker, made from the configuration: clients, providers, scripts, bridges.
#pragma once

#include <boost/asio/io_context.hpp>
#include <expected>
#include <map>
#include <memory>
#include <string>

#include "treaty/backends/scripted/scripted_backend.h"
#include "treaty/base/error.h"
#include "treaty/base/secrets.h"
#include "treaty/config/configuration.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/results/prices.h"
#include "treaty/store/store.h"

namespace treaty::app {

// What the workers share: the price table, what no backend may tell, one player a script, so that a
// script is played once and not once a worker, and the quota pools.
struct SharedBackends {
  results::PriceTable prices{};
  std::shared_ptr<const KnownSecrets> secrets{};
  std::map<std::string, std::shared_ptr<backends::ScriptPlayer>, std::less<>> players{};
  std::shared_ptr<dispatch::Pools> pools{};
  store::Store* store = nullptr;  // For budgets.
};

// `store` is for budgets and may be null: then there are none.
std::expected<std::shared_ptr<const SharedBackends>, Error> share_backends(
    const config::Configuration& configuration, std::shared_ptr<dispatch::Pools> pools,
    store::Store* store);

// For the event loop of `context`, on whose thread it must be dropped.
std::shared_ptr<dispatch::Dispatcher> make_dispatcher(boost::asio::io_context& context,
                                                      const config::Configuration& configuration,
                                                      std::shared_ptr<const SharedBackends> shared);

}  // namespace treaty::app
