#include "treaty/app/backends.h"

#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "treaty/app/machine_agents.h"
#include "treaty/backends/bridge/bridge_backend.h"
#include "treaty/backends/http_backend.h"
#include "treaty/backends/masked_backend.h"
#include "treaty/backends/providers/endpoint.h"
#include "treaty/base/hash.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/machine/machine_files.h"
#include "treaty/cli/terminal.h"
#include "treaty/http/client.h"
#include "treaty/http/net/address_guard.h"
#include "treaty/machines/backend/launch_resumer.h"
#include "treaty/machines/backend/machine_backend.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/store/leases.h"

namespace treaty::app {
namespace {

std::shared_ptr<const http::AddressGuard> guard_of(const config::Configuration& configuration) {
  auto guard = http::AddressGuard::allowing(configuration.allowed_addresses);
  return std::make_shared<http::AddressGuard>(guard ? std::move(*guard) : http::AddressGuard());
}

void log_line(std::string_view line) {
  std::fprintf(stderr, "treaty: %s\n", cli::harmless(line).c_str());
}

machines::HookRegistry hooks_of(boost::asio::io_context& context,
                                const config::Configuration& configuration) {
  return machines::built_in_hooks(
      {.client = std::make_shared<http::Client>(
           context, http::ClientOptions{.guard = guard_of(configuration)}),
       .log = log_line});
}

// What machines of one worker have around them: agents, hooks, time, the store.
class MachineSite {
 public:
  MachineSite(boost::asio::io_context& context, const config::Configuration& configuration,
              const SharedBackends& shared)
      : store_(shared.store->machines()), hooks_(hooks_of(context, configuration)) {}

  // `holder` has this site; machines that run hold it.
  std::shared_ptr<backends::Backend> backend(const config::MachineFile& file,
                                             std::weak_ptr<const void> holder) {
    if (!launched_) {
      launched_ = std::make_unique<machines::LaunchResumer>(services(holder), log_line);
    }
    return std::make_shared<machines::MachineBackend>(file.machine, file.path,
                                                      services(std::move(holder)));
  }

  machines::LaunchResumer& launched() { return *launched_; }  // After the first backend.

  // Called once, after the dispatcher is made: it needs the backends first. The owner of this
  // object also owns the dispatcher, so a shared pointer to it would be a cycle.
  void open_agents(boost::asio::io_context& context, const config::Configuration& configuration,
                   std::shared_ptr<const SharedBackends> shared, dispatch::Dispatcher& dispatcher) {
    agents_.agents = std::make_unique<DispatchedAgents>(AgentServices{
        context, std::make_shared<const config::Configuration>(configuration), std::move(shared),
        std::shared_ptr<dispatch::Dispatcher>(std::shared_ptr<void>(), &dispatcher)});
  }

 private:
  machines::MachineServices services(std::weak_ptr<const void> holder) {
    const auto names = cli::names_of(hooks_);
    return {.agents = agents_,
            .timeline = *timeline_,
            .store = store_,
            .hooks = hooks_,
            .open_machine = cli::machine_opener(names),
            .read_machine = cli::machine_reader(names),
            .hold = [holder = std::move(holder)] { return holder.lock(); },
            .process = store::process_name()};
  }

  struct LateAgents final : machines::Agents {
    boost::asio::awaitable<machines::Dynamic> call(const machines::AgentCall& call) override {
      return agents->call(call);
    }
    std::unique_ptr<DispatchedAgents> agents{};
  };

  store::MachineStore& store_;
  machines::HookRegistry hooks_;
  std::unique_ptr<machines::Timeline> timeline_ = machines::real_timeline();
  LateAgents agents_{};
  std::unique_ptr<machines::LaunchResumer> launched_{};
};

// Everything that lives as long as one worker's backends.
struct Catalog {
  std::shared_ptr<const SharedBackends> shared;
  std::map<std::string, std::unique_ptr<http::Client>> clients{};  // By their ca_file.
  std::unique_ptr<MachineSite> machines{};
  std::unique_ptr<dispatch::Dispatcher> dispatcher{};
};

// A pool is an account and a model: known again after a restart by a digest, which holds no key.
dispatch::PoolNames pools_of_provider(const std::string& name,
                                      const config::HttpProvider& settings) {
  const std::string account =
      sha256_hex(fmt::format("{}\n{}", settings.base_url, settings.key)).substr(0, 32);
  return [name, account](const std::string& model) {
    return dispatch::PoolName{
        .key = fmt::format("{}/{}", account, model), .provider = name, .model = model};
  };
}

// Whose thoughts come from there: digested, since an address may hold a password.
std::string author_of(const config::HttpProvider& settings) {
  return fmt::format(
      "{} {}", settings.kind,
      sha256_hex(fmt::format("{}\n{}", settings.kind, settings.base_url)).substr(0, 16));
}

// Of a backend in this house: nobody limits it but its own answers.
dispatch::PoolNames own_pools(const std::string& name) {
  return [name](const std::string& model) {
    return dispatch::PoolName{.key = fmt::format("{}/{}", name, model),
                              .provider = name,
                              .model = model,
                              .has_limits = false};
  };
}

// Builds the backends of one worker: one function per kind.
struct BackendBuilder {
  boost::asio::io_context& context;
  const config::Configuration& configuration;
  const std::shared_ptr<Catalog>& catalog;

  dispatch::Source build(const std::string& name, const config::HttpProvider& settings) const {
    auto& client = catalog->clients[settings.ca_file];
    if (!client) {
      client =
          std::make_unique<http::Client>(context, http::ClientOptions{.ca_file = settings.ca_file});
    }
    const backends::Provider* provider = backends::find_provider(settings.kind);
    const backends::Protocol* protocol = provider->find_protocol(settings.protocol);
    backends::HttpTarget target{.provider = provider,
                                .protocol = protocol,
                                .base_url = settings.base_url,
                                .key = settings.key,
                                .fetch = backends::fetch_within(settings.timeout)};
    return {.backend = std::make_shared<backends::HttpBackend>(*client, std::move(target),
                                                               catalog->shared->prices),
            .provider_kind = settings.kind,
            .pool_of = pools_of_provider(name, settings),
            .pace = config::pace_of(settings),
            .author = author_of(settings),
            .continues_answers = [provider, protocol](const backends::Call& call) {
              return prefill_of(*provider, *protocol, call) != backends::Prefill::none;
            }};
  }

  dispatch::Source build(const std::string& name, const config::ScriptFile& /*settings*/) const {
    return {
        .backend = std::make_shared<backends::ScriptedBackend>(catalog->shared->players.at(name)),
        .pool_of = own_pools(name)};
  }

  dispatch::Source build(const std::string& name, const config::BridgeDirectory& settings) const {
    return {.backend = std::make_shared<backends::BridgeBackend>(
                backends::BridgeTarget{.directory = settings.path,
                                       .agent_name = settings.agent_name,
                                       .timeout = settings.timeout}),
            .pool_of = own_pools(name)};
  }

  // Machines need a store: without one there is no backend.
  dispatch::Source build(const std::string& name, const config::MachineFile& settings) const {
    if (catalog->shared->store == nullptr) return {};
    if (!catalog->machines) {
      catalog->machines = std::make_unique<MachineSite>(context, configuration, *catalog->shared);
    }
    return {.backend = catalog->machines->backend(settings, catalog), .pool_of = own_pools(name)};
  }
};

// Keys of all providers, configured or only in the environment.
std::vector<std::string> provider_keys(const config::Configuration& configuration) {
  std::vector<std::string> keys;
  for (const auto& [name, settings] : configuration.backends_of<config::HttpProvider>()) {
    keys.push_back(settings->key);
  }
  for (const backends::Provider& provider : backends::all_providers()) {
    for (const std::string_view variable : provider.key.environment_variables) {
      if (const auto key = backends::process_environment(variable))
        keys.emplace_back(trimmed(*key));
    }
  }
  return keys;
}

}  // namespace

std::expected<std::shared_ptr<const SharedBackends>, Error> share_backends(
    const config::Configuration& configuration, std::shared_ptr<dispatch::Pools> pools,
    store::Store* store, const KnownSecrets& earlier_secrets) {
  auto shared = std::make_shared<SharedBackends>();
  shared->pools = std::move(pools);
  shared->store = store;
  shared->secrets =
      std::make_shared<const KnownSecrets>(earlier_secrets.with(provider_keys(configuration)));
  TREATY_TRY(auto prices, results::read_prices(configuration.prices_file.empty()
                                                   ? results::built_in_prices()
                                                   : std::string_view(configuration.prices_text)));
  shared->prices = std::move(prices);
  for (const auto& [name, file] : configuration.backends_of<config::ScriptFile>()) {
    auto script = backends::read_script(file->text);
    if (!script) {
      const auto& problem = script.error().front();
      return fail(ErrorCode::not_a_document, problem.message,
                  fmt::format("{}:{}", file->path, problem.line));
    }
    shared->players[std::string(name)] =
        std::make_shared<backends::ScriptPlayer>(*std::move(script));
  }
  return shared;
}

WorkerBackends make_backends(boost::asio::io_context& context,
                             const config::Configuration& configuration,
                             std::shared_ptr<const SharedBackends> shared, OffloadPool* pool) {
  auto catalog = std::make_shared<Catalog>(std::move(shared));
  const BackendBuilder builder{context, configuration, catalog};
  dispatch::BackendSources sources;
  for (const auto& [name, settings] : configuration.backends) {
    auto source = std::visit([&](const auto& kind) { return builder.build(name, kind); }, settings);
    if (source.backend) sources[name] = std::move(source);
  }
  for (auto& [name, source] : sources) {
    source.backend =
        std::make_shared<backends::MaskedBackend>(source.backend, catalog->shared->secrets, pool);
  }
  catalog->dispatcher = std::make_unique<dispatch::Dispatcher>(
      std::move(sources), dispatch::Dispatcher::Services{.pools = catalog->shared->pools,
                                                         .budgets = catalog->shared->store,
                                                         .prices = &catalog->shared->prices});
  dispatch::Dispatcher* dispatcher = catalog->dispatcher.get();
  for (const auto& [name, agent] : configuration.turns.agents) {
    dispatcher->take_over_pools(agent.chain);
  }
  if (catalog->machines) {
    catalog->machines->open_agents(context, configuration, catalog->shared, *dispatcher);
  }
  WorkerBackends made;
  if (catalog->machines) {
    made.resume_launched = [catalog] { return catalog->machines->launched().resume_abandoned(); };
  }
  made.dispatcher = std::shared_ptr<dispatch::Dispatcher>(std::move(catalog), dispatcher);
  return made;
}

}  // namespace treaty::app
