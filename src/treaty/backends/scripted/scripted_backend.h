// A backend that plays a script in the process: no network, no key. What it gives is what the same
// script played over HTTP would have become.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "treaty/backends/backend.h"
#include "treaty/backends/scripted/script_player.h"
#include "treaty/base/clock.h"

namespace treaty::backends {

// Belongs to one thread. Calls may overlap; each takes the script's next reply when it begins.
class ScriptedBackend final : public Backend {
 public:
  // Backends of several threads may share a player.
  ScriptedBackend(std::shared_ptr<ScriptPlayer> player,
                  std::shared_ptr<const Clock> clock = system_clock());

  // A fault at a number of bytes counts bytes of text here: there is no wire.
  boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) override;

 private:
  std::shared_ptr<ScriptPlayer> player_;
  std::shared_ptr<const Clock> clock_;
};

}  // namespace treaty::backends
