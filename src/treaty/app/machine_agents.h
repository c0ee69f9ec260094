// The agents behind the states of a machine: FlatAgent files, agents of treaty.yaml, programs.
// Their calls go through the dispatcher, as those of turns do.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "treaty/app/backends.h"
#include "treaty/backends/flatagent/flat_agent.h"
#include "treaty/config/configuration.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/machines/agents.h"
#include "treaty/store/store.h"

namespace treaty::app {

struct ModelRoute {
  std::shared_ptr<dispatch::Dispatcher> dispatcher{};
  std::vector<dispatch::Choice> chain{};
};

// What the agents of machines are made from.
struct AgentServices {
  boost::asio::io_context& context;
  std::shared_ptr<const config::Configuration> configuration;
  std::shared_ptr<const SharedBackends> shared;
  std::shared_ptr<dispatch::Dispatcher> dispatcher;  // make_backends' of that configuration.
};

// Whom to ask for a model that a FlatAgent names: a provider of treaty.yaml, one that is built in,
// with its key in the environment, or the address that the profile gives. Belongs to one event
// loop.
class ModelRoutes {
 public:
  explicit ModelRoutes(AgentServices services) : services_(std::move(services)) {}

  // One attempt, no waiting: when to try again is the machine's to say. The error names what is
  // missing, or what the provider cannot be asked for; some depends on whether there are tools.
  std::expected<ModelRoute, std::string> find(const backends::ModelProfile& profile,
                                              bool has_tools);

  const AgentServices& services() const { return services_; }

 private:
  bool is_configured(const std::string& backend) const;
  std::vector<dispatch::Choice> usual_chain() const;
  dispatch::Choice choice_of(const std::string& backend,
                             const backends::ModelProfile& profile) const;
  // On backends of treaty.yaml.
  std::expected<ModelRoute, std::string> configured(const backends::ModelProfile& profile,
                                                    std::vector<dispatch::Choice> chain,
                                                    bool has_tools) const;
  std::expected<ModelRoute, std::string> route_to(const std::string& provider,
                                                  const backends::ModelProfile& profile,
                                                  bool has_tools);

  AgentServices services_;
  // For providers that the configuration does not have, by their name and address.
  std::map<std::string, std::shared_ptr<dispatch::Dispatcher>> more_{};
};

class AskedAgent;  // One that was found.

// Belongs to the event loop of `context`. A reference is looked up once; one that cannot be found
// is looked for again by the next call. Never fails itself: what is wrong is in the AgentResult,
// with the code `agent_not_found` when there is nobody to ask.
class DispatchedAgents final : public machines::Agents {
 public:
  explicit DispatchedAgents(AgentServices services) : routes_(std::move(services)) {}

  boost::asio::awaitable<machines::Dynamic> call(const machines::AgentCall& call) override;

 private:
  using Found = std::expected<std::shared_ptr<AskedAgent>, std::string>;

  Found find(const machines::AgentCall& call);
  Found resolve(const machines::Dynamic& source, const std::string& directory);
  Found resolve_text(const std::string& text, const std::string& directory);
  Found resolve_typed(const std::string& type, const boost::json::object& source,
                      const std::string& directory);
  Found flat_agent(const machines::Dynamic& document, const std::string& own_directory,
                   const std::string& machine_directory);
  Found configured_agent(const std::string& name);

  ModelRoutes routes_;
  std::map<std::string, std::shared_ptr<AskedAgent>> known_{};  // By directory and reference.
};

// For a process that runs machines alone: with backends and pools of its own. The store is for
// budgets and may be null.
std::expected<std::unique_ptr<machines::Agents>, Error> open_machine_agents(
    boost::asio::io_context& context, const config::Configuration& configuration,
    store::Store* store);

}  // namespace treaty::app
