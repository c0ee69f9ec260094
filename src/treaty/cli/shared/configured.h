// From the words of a command to an open gateway: the configuration, its problems told as people
// need them, the exit code when it is not to be.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/gateway.h"
#include "treaty/config/configuration.h"
#include "treaty/config/load.h"

namespace treaty::cli {

// --config and --state-dir, for every command that reads the configuration, and what was given.
std::vector<Option> configuration_options();
config::Flags configuration_flags(const Arguments& arguments);

// Every problem is told on stderr; nothing then, and the command ends with kBadConfiguration.
std::optional<config::Configuration> load_configuration(std::string_view command,
                                                        const Arguments& arguments);

// The same for a gateway that serves this process alone: whatever is said of addresses, it listens
// on a free port of the loopback, if at all.
std::optional<config::Configuration> load_private_configuration(std::string_view command,
                                                                const Arguments& arguments);

// Where the store is in the configuration of this process. The Error names every problem.
std::expected<std::string, Error> configured_address(const Arguments& arguments);

// Tells on stderr why a store or a backend cannot be opened; the error is the exit code.
std::expected<std::unique_ptr<Gateway>, int> open_gateway(
    std::string_view command, const OpenGateway& open, const config::Configuration& configuration);

// What is wrong with a gateway and what to do about it, on stderr; answers the exit code.
int tell_error(std::string_view command, const Error& error);

// Where the journal is, without its scheme.
std::string_view path_of_store(std::string_view address);

}  // namespace treaty::cli
