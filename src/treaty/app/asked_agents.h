// The kinds of agents that a machine asks: how each turns a state's input into a call, and the
// answer into an AgentResult.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "treaty/app/model_routes.h"
#include "treaty/backends/command/command_agent.h"
#include "treaty/backends/flatagent/flat_agent.h"
#include "treaty/machines/agents.h"

namespace treaty::app {

// An agent that was found, ready to be asked. Any number of calls may run at once.
class AskedAgent {
 public:
  virtual ~AskedAgent() = default;
  virtual boost::asio::awaitable<contracts::AgentResult> ask(const machines::AgentCall& call) = 0;
};

// A FlatAgent on a route to its model. An answer that does not fit its `output` is complained about
// once.
std::shared_ptr<AskedAgent> asked_flat_agent(backends::FlatAgent agent, ModelRoute route,
                                             dispatch::Seconds deadline);

// An agent of treaty.yaml: its system prompt, its tools, its chain, its budget.
std::shared_ptr<AskedAgent> asked_configured_agent(
    std::shared_ptr<const turns::Agent> agent, std::shared_ptr<dispatch::Dispatcher> dispatcher);

// A program. What it says is masked like the words of providers.
std::shared_ptr<AskedAgent> asked_command(backends::CommandAgent agent,
                                          std::shared_ptr<const KnownSecrets> secrets);

// What an agent of treaty.yaml is told: the text when the input is one, else the input as JSON.
std::string prompt_of(const machines::Dynamic& input);

}  // namespace treaty::app
