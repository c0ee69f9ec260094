// The store that machines of this process use: the configured one, a directory, or memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "treaty/cli/command_line.h"
#include "treaty/cli/shared/wait_for.h"
#include "treaty/machines/machine.h"
#include "treaty/store/machines.h"
#include "treaty/store/store.h"

namespace treaty::cli {

class OpenedMachines {
 public:
  OpenedMachines(std::unique_ptr<store::Store> whole, std::optional<std::string> options)
      : whole_(std::move(whole)), options_(std::move(options)) {}
  OpenedMachines(std::unique_ptr<store::MachineStore> own, std::optional<std::string> options)
      : own_(std::move(own)), options_(std::move(options)) {}

  store::MachineStore& machines() const { return own_ ? *own_ : whole_->machines(); }
  store::Store* whole() const { return whole_.get(); }  // Null for a directory and for memory.

  // What the next command needs to find the same store, such as " --store DIR"; nothing when the
  // store ends with this process.
  const std::optional<std::string>& options() const { return options_; }

 private:
  std::unique_ptr<store::Store> whole_{};
  std::unique_ptr<store::MachineStore> own_{};
  std::optional<std::string> options_{};
};

// --store, --config and --state-dir.
std::vector<Option> machine_store_options();

// --format, then those of the store.
std::vector<Option> looking_options();

// Those of these options that were given, as the next command needs them to find the same store.
std::string options_to_find(const Arguments& arguments);

// By --store; else what the machine's file says; else the configured one. `persistence` may be
// null.
Result<OpenedMachines> open_machines(const Arguments& arguments, store::Purpose purpose,
                                     const machines::Persistence* persistence);

// The store that --store or the configuration names. Looking into one creates none: it fails when
// there is no directory or database of that name.
Result<OpenedMachines> open_to_look(const Arguments& arguments, store::Purpose purpose);

// The same to read. A store that does not exist yet is empty.
Result<OpenedMachines> open_or_empty(const Arguments& arguments);

// Why nothing was run, or could be looked at.
CommandFailure machine_failure(const Error& error);

// A store's answer.
template <class T>
Result<T> await_store(boost::asio::awaitable<std::expected<T, Error>> task) {
  return wait_for(std::move(task), machine_failure);
}

// A number from `least` on in that option; `otherwise` when it is not there.
Result<std::int64_t> read_count(const Arguments& arguments, const std::string& option,
                                std::int64_t least, std::int64_t otherwise);

}  // namespace treaty::cli
