// What `treaty call` is asked to do, read from its arguments and the environment.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "treaty/backends/call.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/schema/schema.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli::call {

struct CallOptions {
  const backends::Provider* provider = nullptr;
  const backends::Protocol* protocol = nullptr;
  std::string base_url{};  // Made whole; may come from the environment.
  std::string key{};       // From the environment; empty when there is none.
  backends::Call call{};
  std::optional<schema::Schema> schema{};  // That the answer shall fit.
  std::string ca_file{};
  std::string prices_file{};
  std::chrono::milliseconds timeout{600'000};
  bool json = false;
};

Result<CallOptions> read_call_options(const Arguments& arguments);

}  // namespace treaty::cli::call
