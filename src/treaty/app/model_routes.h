// Whom to ask for a model that a FlatAgent names: a provider of treaty.yaml, one that is built in,
// with its key in the environment, or the address that the profile gives.
#pragma once

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
  std::shared_ptr<dispatch::Dispatcher> dispatcher;  // make_dispatcher's of that configuration.
};

// Belongs to one event loop.
class ModelRoutes {
 public:
  explicit ModelRoutes(AgentServices services) : services_(std::move(services)) {}

  // One attempt, no waiting: when to try again is the machine's to say. The error names what is
  // missing.
  std::expected<ModelRoute, std::string> find(const backends::ModelProfile& profile);

  const AgentServices& services() const { return services_; }

 private:
  bool is_configured(const std::string& backend) const;
  std::vector<dispatch::Choice> usual_chain() const;
  dispatch::Choice choice_of(const std::string& backend,
                             const backends::ModelProfile& profile) const;
  std::expected<ModelRoute, std::string> route_to(const std::string& provider,
                                                  const backends::ModelProfile& profile);

  AgentServices services_;
  // For providers that the configuration does not have, by their name and address.
  std::map<std::string, std::shared_ptr<dispatch::Dispatcher>> more_{};
};

}  // namespace treaty::app
