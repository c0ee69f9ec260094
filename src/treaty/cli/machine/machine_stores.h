// The store that machines of this process use: the configured one, a directory, or memory.
#pragma once

#include <expected>
#include <memory>
#include <string>

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

}  // namespace treaty::cli
