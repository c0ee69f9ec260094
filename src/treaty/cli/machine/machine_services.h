// What `treaty machine` needs opened: stores and agents. The program knows how.
#pragma once

#include <boost/asio/io_context.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "treaty/cli/sessions/sessions_command.h"
#include "treaty/config/configuration.h"
#include "treaty/machines/agents.h"
#include "treaty/store/machines.h"

namespace treaty::cli {

struct MachineServices {
  Stores stores{};  // The configured one.
  std::function<std::expected<std::unique_ptr<store::MachineStore>, Error>(const std::string&,
                                                                           store::Purpose)>
      open_directory{};
  std::function<std::unique_ptr<store::MachineStore>()> open_memory{};

  // The agents of a configuration, on that loop. The store is for budgets; it may be null.
  std::function<std::expected<std::unique_ptr<machines::Agents>, Error>(
      boost::asio::io_context&, const config::Configuration&, store::Store*)>
      open_agents{};
};

}  // namespace treaty::cli
