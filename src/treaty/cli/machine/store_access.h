// The store of machines, for commands that look into it or change it without running anything.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/shared/services.h"

namespace treaty::cli {

// The store's answer, on a loop of this call.
template <class T>
std::expected<T, Error> wait_for(store::Task<T> task) {
  boost::asio::io_context loop(1);
  std::expected<T, Error> answer{};
  boost::asio::co_spawn(
      loop, std::move(task),
      [&](const std::exception_ptr&, std::expected<T, Error> done) { answer = std::move(done); });
  loop.run();
  return answer;
}

// The store that --store or the configuration names. To look into one makes none: a directory that
// is not there is told. The error is told on stderr already: it is the exit code.
std::expected<OpenedMachines, int> open_to_look(std::string_view command,
                                                const MachineServices& services,
                                                const Arguments& arguments, store::Purpose purpose);

// --format, then those of the store.
std::vector<Option> looking_options();

bool wants_json(const Arguments& arguments);

// A number from `least` on in that option; `otherwise` when it is not there. The error is what to
// say.
std::expected<std::int64_t, std::string> read_count(const Arguments& arguments,
                                                    const std::string& option, std::int64_t least,
                                                    std::int64_t otherwise);

}  // namespace treaty::cli
