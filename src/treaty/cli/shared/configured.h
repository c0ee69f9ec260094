// From the words of a command to an open gateway or store: the configuration, its problems told as
// people need them, the failure when it is not to be.
#pragma once

#include <expected>
#include <memory>
#include <string_view>
#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"
#include "treaty/config/configuration.h"
#include "treaty/config/load.h"
#include "treaty/store/store_options.h"

namespace treaty::cli {

// --config and --state-dir, for every command that reads the configuration, and what was given.
std::vector<Option> configuration_options();
config::Flags configuration_flags(const Arguments& arguments);

// Every problem is told on stderr, each on a line that begins with the command.
Result<config::Configuration> load_configuration(std::string_view command,
                                                 const Arguments& arguments);

// The same for a gateway that serves this process alone: whatever is said of addresses, it listens
// on a free port of the loopback, if at all.
Result<config::Configuration> load_private_configuration(std::string_view command,
                                                         const Arguments& arguments);

// The address of the store. An Error of the configuration names every problem, each on a line.
std::expected<std::string, Error> configured_store(const Arguments& arguments);

// The store at that address.
std::expected<std::unique_ptr<store::Store>, Error> open_configured_store(
    const Arguments& arguments, store::Purpose purpose);

// Fails when the store or a backend cannot be opened.
Result<std::unique_ptr<Gateway>> open_gateway(const OpenGateway& open,
                                              const config::Configuration& configuration);

// What is wrong with a gateway or a store, and what to do about it.
CommandFailure failure_of(const Error& error);

// Where the journal is, without its scheme.
std::string_view path_of_store(std::string_view address);

}  // namespace treaty::cli
