// The store that machines of this process use: the configured one, a directory, or memory.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "treaty/cli/command_line.h"
#include "treaty/cli/shared/services.h"
#include "treaty/machines/machine.h"

namespace treaty::cli {

class OpenedMachines {
 public:
  explicit OpenedMachines(std::unique_ptr<store::Store> whole) : whole_(std::move(whole)) {}
  explicit OpenedMachines(std::unique_ptr<store::MachineStore> own) : own_(std::move(own)) {}

  store::MachineStore& machines() const { return own_ ? *own_ : whole_->machines(); }
  store::Store* whole() const { return whole_.get(); }  // Null unless it is the configured one.

 private:
  std::unique_ptr<store::Store> whole_{};
  std::unique_ptr<store::MachineStore> own_{};
};

// --store, --config and --state-dir.
std::vector<Option> machine_store_options();

// What the next command needs to find the same store: " --store DIR"; empty for the usual one.
std::string options_to_find(const Arguments& arguments);

// By --store; else what the machine's file says; else the configured one. `persistence` may be
// null. The error is told on stderr already: it is the exit code.
std::expected<OpenedMachines, int> open_machines(std::string_view command,
                                                 const MachineServices& services,
                                                 const Arguments& arguments, store::Purpose purpose,
                                                 const machines::Persistence* persistence);

// The store that --store or the configuration names. To look into one makes none: a directory that
// is not there is told. The error is told on stderr already: it is the exit code.
std::expected<OpenedMachines, int> open_to_look(std::string_view command,
                                                const MachineServices& services,
                                                const Arguments& arguments, store::Purpose purpose);

// --format, then those of the store.
std::vector<Option> looking_options();

// A number from `least` on in that option; `otherwise` when it is not there. The error is what to
// say.
std::expected<std::int64_t, std::string> read_count(const Arguments& arguments,
                                                    const std::string& option, std::int64_t least,
                                                    std::int64_t otherwise);

}  // namespace treaty::cli
