// Puts bridge requests to agents, as turns, and writes what they answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "treaty/bridge/driver.h"
#include "treaty/bridge/run_state.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"
#include "treaty/cli/shared/client_tools.h"
#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/signals.h"

namespace treaty::cli {

// Whom requests are put to: the gateway of this process, or one behind an address (--url). May be
// used from several threads.
class AgentClients {
 public:
  virtual ~AgentClients() = default;

  // For the use of one thread. A caller without signals of its own gives an empty Signals; an empty
  // `on_event` is not called.
  virtual std::unique_ptr<GatewayClient> open_client(Signals& signals, OnTurnEvent on_event) = 0;

  // False when it is known that there is no agent of that name.
  virtual bool may_have(const std::string& agent) const = 0;
};

// --agent, --tool…, --url, --key-env, --config, --state-dir: of every command that asks.
std::vector<Option> asking_options();

struct AskOptions {
  std::string command{};             // "bridge run", for messages.
  std::string agent{};               // Empty: the one that the request names, else `default`.
  std::vector<std::string> words{};  // These options as they were given, for a repetition.
  ClientTools tools{};
  bridge::Existing existing = bridge::Existing::keep;  // What to do with an answer that is there.
  // Gets what a person should know while a request is being answered, on any thread: waits of more
  // than a second, a model that is not followed. Absent: nobody is told.
  std::function<void(const bridge::Exchange&, const std::string& text)> tell{};
};
// Tells on stderr, by the phase of the request.
Result<AskOptions> read_ask_options(std::string_view command, const Arguments& arguments);

// `directories`: where their answers go. An agent that asks by file there would be asked its own
// questions, and is refused.
Result<std::unique_ptr<AgentClients>> open_agent_clients(std::string_view command,
                                                         const Arguments& arguments,
                                                         const OpenGateway& open,
                                                         std::span<const std::string> directories);

// What came of a request.
struct AnswerOutcome {
  std::optional<contracts::BridgeResponse> response{};  // On the disk, when it is here.
  int exit_code = kOk;                                  // Without one: what the command ends with,
  std::string failure{};                                // and why, for people.
  int signal = 0;  // Came meanwhile; the turn is cancelled, and nothing was answered.
};

// The two parts of a failure: what went wrong, and what to do next, which may be empty.
struct FailureParts {
  std::string message{};
  std::string next{};
};
FailureParts parts_of(const std::string& failure);

// Journals that it asks, runs the turn until the request's own deadline (timeout_seconds), writes
// the answer. `earlier`: the question was put before, by a driver that was killed; its turn is
// taken up again and not paid for twice.
AnswerOutcome answer_request(bridge::Driver& driver, AgentClients& agents, Signals& signals,
                             const bridge::Exchange& exchange,
                             const std::optional<bridge::AskedRequest>& earlier,
                             const AskOptions& options);

// The same for whoever watches: a question that the journal has as open is taken up, and the
// seconds count on a terminal.
AnswerOutcome answer_shown(bridge::Driver& driver, AgentClients& agents, Signals& signals,
                           const bridge::Exchange& exchange, const AskOptions& options);

}  // namespace treaty::cli
