// The gateway as commands see it: the engine, its store and its server, wired up by the program.
//
// Any thread may call execute(), cancel() and newest_turn(), several at a time; the rest belongs to
// the main thread.
//
//   auto gateway = open(configuration);
//   const auto port = (*gateway)->listen();
//   const std::string result = (*gateway)->execute(request, on_text, {});
//   (*gateway)->stop();
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "treaty/base/error.h"

namespace boost::asio {
class io_context;
}
namespace treaty::config {
struct Configuration;
}
namespace treaty::contracts {
struct AgentExecuteRequest;
}
namespace treaty::machines {
class Agents;
}
namespace treaty::store {
class Store;
struct TurnRecord;
}  // namespace treaty::store

namespace treaty::cli {

class Gateway {
 public:
  virtual ~Gateway() = default;

  // Starts the workers and listens; answers the port. Turns that a crash left behind go on.
  virtual std::expected<std::uint16_t, Error> listen() = 0;

  // Replaces agents, providers, keys and limits while it runs. An error changes nothing.
  virtual std::expected<void, Error> reload(const config::Configuration& configuration) = 0;

  // Accepts no more, lets running turns end (or stay journalled), then leaves.
  virtual void stop() = 0;

  // One turn without a server: deltas as they come (when the request streams), entries of its diary
  // as they are made (unless nobody wants them), then the InvokeResult.
  using OnText = std::function<void(std::string_view)>;
  using OnEvent = std::function<void(std::string_view kind, std::string_view data)>;
  virtual std::string execute(contracts::AgentExecuteRequest request, const OnText& on_text,
                              const OnEvent& on_event) = 0;

  // Ends a running or waiting turn of this process's own tenant; execute() then answers so.
  virtual void cancel(const std::string& session_id, const std::string& turn_id) = 0;

  // The newest turn of a session of that tenant; nothing when it has none, or is not there.
  virtual std::expected<std::optional<store::TurnRecord>, Error> newest_turn(
      const std::string& session_id) = 0;
};

using OpenGateway =
    std::function<std::expected<std::unique_ptr<Gateway>, Error>(const config::Configuration&)>;

// The agents that machines ask, on that loop. The store is for budgets; it may be null.
using OpenMachineAgents = std::function<std::expected<std::unique_ptr<machines::Agents>, Error>(
    boost::asio::io_context&, const config::Configuration&, store::Store*)>;

}  // namespace treaty::cli
