// What machines of one worker have around them: agents, hooks, time, the store.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "treaty/app/backends.h"
#include "treaty/http/client.h"
#include "treaty/machines/backend/machine_backend.h"

namespace treaty::app {

// Belongs to the event loop of `context`. Whoever holds it also holds the dispatcher that the
// agents' calls go through.
class MachineSite {
 public:
  // The store of `shared` is there.
  MachineSite(boost::asio::io_context& context, const config::Configuration& configuration,
              const SharedBackends& shared);
  ~MachineSite();
  MachineSite(const MachineSite&) = delete;
  MachineSite& operator=(const MachineSite&) = delete;

  // `holder` has this site; machines that run hold it.
  std::shared_ptr<backends::Backend> backend(const config::MachineFile& file,
                                             std::weak_ptr<const void> holder);

  // Once, when the dispatcher is there: backends are made before it.
  void open_agents(boost::asio::io_context& context, const config::Configuration& configuration,
                   std::shared_ptr<const SharedBackends> shared, dispatch::Dispatcher& dispatcher);

 private:
  class Agents;

  store::MachineStore& store_;
  machines::HookRegistry hooks_;
  std::unique_ptr<machines::Timeline> timeline_;
  std::unique_ptr<Agents> agents_;
};

}  // namespace treaty::app
