// The gateway that a command talks to, as its words name it: --url and --key-env.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "treaty/cli/command_line.h"
#include "treaty/cli/shared/remote_client.h"

namespace treaty::cli {

struct BadAddress {
  int exit_code = kWrongUsage;
  std::string message{};
};

// Tells on stderr what is wrong; answers the exit code.
int tell_bad_address(std::string_view command, const BadAddress& bad);

std::vector<Option> remote_options();

// Nothing when the gateway of this process is meant.
std::expected<std::optional<RemoteAddress>, BadAddress> read_remote_address(
    const Arguments& arguments);

}  // namespace treaty::cli
