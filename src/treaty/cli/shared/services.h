// What commands get opened for them: stores and the agents of machines. Only the program
// (app/wire_up.cpp) knows the classes behind these functions. The functions may be called from the
// main thread only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "treaty/cli/command_line.h"
#include "treaty/config/configuration.h"
#include "treaty/machines/agents.h"
#include "treaty/store/machines.h"
#include "treaty/store/store.h"

namespace treaty::cli {

// Where the store is and how it is opened.
struct Stores {
  // "sqlite:///…", by --config and --state-dir. An Error is one of the configuration.
  std::function<std::expected<std::string, Error>(const Arguments&)> address;
  std::function<std::expected<std::unique_ptr<store::Store>, Error>(const std::string& address,
                                                                    store::Purpose purpose)>
      open;
};

struct MachineServices {
  Stores stores{};  // The configured one.

  // The agents of a configuration, on that loop. The store is for budgets; it may be null.
  std::function<std::expected<std::unique_ptr<machines::Agents>, Error>(
      boost::asio::io_context&, const config::Configuration&, store::Store*)>
      open_agents{};
};

// A store's answer, on an event loop of this call.
template <class T>
std::expected<T, Error> wait_for(boost::asio::awaitable<std::expected<T, Error>> task) {
  boost::asio::io_context loop(1);
  std::expected<T, Error> answer{};
  boost::asio::co_spawn(
      loop, std::move(task),
      [&](const std::exception_ptr&, std::expected<T, Error> done) { answer = std::move(done); });
  loop.run();
  return answer;
}

}  // namespace treaty::cli
