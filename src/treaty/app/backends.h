// The backends of one worker, made from the configuration: clients, providers, scripts, bridges.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "treaty/backends/scripted/scripted_backend.h"
#include "treaty/base/error.h"
#include "treaty/base/masking/known_secrets.h"
#include "treaty/base/offload_pool.h"
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

// `store` is for budgets and may be null: then there are none. `earlier_secrets` are those of the
// configurations before this one: they stay masked, because models and providers may still repeat
// them.
std::expected<std::shared_ptr<const SharedBackends>, Error> share_backends(
    const config::Configuration& configuration, std::shared_ptr<dispatch::Pools> pools,
    store::Store* store, const KnownSecrets& earlier_secrets = {});

struct WorkerBackends {
  std::shared_ptr<dispatch::Dispatcher> dispatcher{};
  // Resumes machines that turns have launched and that no process runs any more. Absent: no machine
  // is configured.
  std::function<boost::asio::awaitable<void>()> resume_launched{};
};

// For the event loop of `context`, on whose thread both must be dropped. `pool` is for large
// answers and outlives the calls; none: they are processed on the event loop.
WorkerBackends make_backends(boost::asio::io_context& context,
                             const config::Configuration& configuration,
                             std::shared_ptr<const SharedBackends> shared,
                             OffloadPool* pool = nullptr);

}  // namespace treaty::app
