#include "treaty/app/machine_site.h"

#include <cstdio>

#include "treaty/app/machine_agents.h"
#include "treaty/cli/machine/machine_files.h"
#include "treaty/cli/terminal.h"
#include "treaty/http/net/address_guard.h"
#include "treaty/machines/hooks/built_in_hooks.h"

namespace treaty::app {
namespace {

std::shared_ptr<const http::AddressGuard> guard_of(const config::Configuration& configuration) {
  auto guard = http::AddressGuard::allowing(configuration.allowed_addresses);
  return std::make_shared<http::AddressGuard>(guard ? std::move(*guard) : http::AddressGuard());
}

machines::HookRegistry hooks_of(boost::asio::io_context& context,
                                const config::Configuration& configuration) {
  return machines::built_in_hooks(
      {.client = std::make_shared<http::Client>(
           context, http::ClientOptions{.guard = guard_of(configuration)}),
       .log = [](std::string_view line) {
         std::fprintf(stderr, "treaty: %s\n", cli::harmless(line).c_str());
       }});
}

}  // namespace

class MachineSite::Agents final : public machines::Agents {
 public:
  boost::asio::awaitable<machines::Dynamic> call(const machines::AgentCall& call) override {
    return agents->call(call);
  }

  std::unique_ptr<DispatchedAgents> agents{};
};

MachineSite::MachineSite(boost::asio::io_context& context,
                         const config::Configuration& configuration, const SharedBackends& shared)
    : store_(shared.store->machines()),
      hooks_(hooks_of(context, configuration)),
      timeline_(machines::real_timeline()),
      agents_(std::make_unique<Agents>()) {}

MachineSite::~MachineSite() = default;

std::shared_ptr<backends::Backend> MachineSite::backend(const config::MachineFile& file,
                                                        std::weak_ptr<const void> holder) {
  const auto names = cli::names_of(hooks_);
  return std::make_shared<machines::MachineBackend>(
      file.machine, file.path,
      machines::Site{.agents = *agents_,
                     .timeline = *timeline_,
                     .store = store_,
                     .hooks = hooks_,
                     .open_machine = cli::machine_opener(names),
                     .read_machine = cli::machine_reader(names),
                     .hold = [holder = std::move(holder)] { return holder.lock(); }});
}

void MachineSite::open_agents(boost::asio::io_context& context,
                              const config::Configuration& configuration,
                              std::shared_ptr<const SharedBackends> shared,
                              dispatch::Dispatcher& dispatcher) {
  // The dispatcher is held by whoever holds this: a share in it would be a circle.
  agents_->agents = std::make_unique<DispatchedAgents>(
      context, std::make_shared<const config::Configuration>(configuration), std::move(shared),
      std::shared_ptr<dispatch::Dispatcher>(std::shared_ptr<void>(), &dispatcher));
}

}  // namespace treaty::app
