// `treaty sessions`: looks into the store of a server, running or not, and prunes it.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "treaty/cli/command_line.h"
#include "treaty/store/store.h"

namespace treaty::cli {

// Where the store is and how it is opened: the program knows both.
struct Stores {
  // "sqlite:///…", by --config and --state-dir. An Error is one of the configuration.
  std::function<std::expected<std::string, Error>(const Arguments&)> address;
  std::function<std::expected<std::unique_ptr<store::Store>, Error>(const std::string& address,
                                                                    store::Purpose purpose)>
      open;
};

// The address in the configuration of this process.
std::expected<std::string, Error> configured_address(const Arguments& arguments);

Command sessions_command(Stores stores);

}  // namespace treaty::cli
