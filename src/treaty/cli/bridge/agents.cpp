// Whom the commands of the bridge ask: the gateway of this process, or one behind an address.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "treaty/base/try.h"
#include "treaty/cli/bridge/ask_agent.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/local_client.h"
#include "treaty/cli/shared/remote_client.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

// A request's own timeout_seconds is its deadline; the engine's must not come before it, and
// requests wait up to 30 days (asking.cpp).
constexpr std::chrono::hours kLongestTurn{31 * 24};

class LocalAgentClients final : public AgentClients {
 public:
  LocalAgentClients(std::unique_ptr<Gateway> gateway, turns::Settings settings)
      : gateway_(std::move(gateway)), settings_(std::move(settings)) {}

  std::unique_ptr<GatewayClient> open_client(Signals& signals) override {
    return std::make_unique<LocalClient>(*gateway_, signals);
  }

  bool may_have(const std::string& agent) const override {
    return settings_.find_agent(agent) != nullptr;
  }

 private:
  std::unique_ptr<Gateway> gateway_;
  turns::Settings settings_;
};

class RemoteAgentClients final : public AgentClients {
 public:
  explicit RemoteAgentClients(RemoteAddress address) : address_(std::move(address)) {}

  std::unique_ptr<GatewayClient> open_client(Signals& signals) override {
    return std::make_unique<RemoteClient>(address_, signals);
  }

  bool may_have(const std::string& /*agent*/) const override { return true; }

 private:
  RemoteAddress address_;
};

// The agent that would be asked what it asks; empty when there is none.
std::string asks_itself(const config::Configuration& configuration,
                        std::span<const std::string> directories) {
  for (const auto& [name, agent] : configuration.turns.agents) {
    for (const dispatch::Choice& choice : agent.chain) {
      const auto* bridge = configuration.find_backend<config::BridgeDirectory>(choice.backend);
      if (bridge == nullptr) continue;
      const auto place = bridge::resolve_directory(bridge->path);
      if (place && std::ranges::find(directories, *place) != directories.end()) return name;
    }
  }
  return {};
}

Result<std::unique_ptr<AgentClients>> open_own_agents(std::string_view command,
                                                      const Arguments& arguments,
                                                      const OpenGateway& open,
                                                      std::span<const std::string> directories) {
  TREATY_TRY(auto configuration, load_private_configuration(command, arguments));
  if (const std::string name = asks_itself(configuration, directories); !name.empty()) {
    return failed_with(kBadConfiguration,
                       fmt::format("the agent {} asks by file in a directory that is answered "
                                   "here: it would be asked its own questions",
                                   harmless(name)),
                       "answer with another configuration: --config FILE");
  }
  const std::string agent = arguments.get("--agent");
  if (!agent.empty() && configuration.turns.find_agent(agent) == nullptr) {
    return failed_with(kBadConfiguration,
                       fmt::format("the configuration has no agent {}", harmless(agent)),
                       "treaty config show lists those that it has");
  }
  configuration.turns.explicit_sessions = false;  // Each request has a session of its own.
  configuration.workers = 1;
  for (auto& [name, one] : configuration.turns.agents) one.deadline = kLongestTurn;
  TREATY_TRY(auto gateway, open_gateway(open, configuration));
  return std::make_unique<LocalAgentClients>(std::move(gateway), std::move(configuration.turns));
}

}  // namespace

std::vector<Option> asking_options() {
  return joined({{{"--agent", "NAME", "Who answers (the agent_name of the request, else default)"}},
                 client_tool_options(),
                 remote_options(),
                 configuration_options()});
}

Result<AskOptions> read_ask_options(std::string_view command, const Arguments& arguments) {
  TREATY_TRY(auto tools, read_client_tools(arguments));
  return AskOptions{.command = std::string(command),
                    .agent = arguments.get("--agent"),
                    .tools = std::move(tools)};
}

Result<std::unique_ptr<AgentClients>> open_agent_clients(std::string_view command,
                                                         const Arguments& arguments,
                                                         const OpenGateway& open,
                                                         std::span<const std::string> directories) {
  TREATY_TRY(auto address, read_remote_address(arguments));
  if (address) return std::make_unique<RemoteAgentClients>(*std::move(address));
  return open_own_agents(command, arguments, open, directories);
}

}  // namespace treaty::cli
