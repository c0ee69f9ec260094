// What the words after `treaty call` ask for.
#pragma once

#include <chrono>
#include <expected>
#include <string>

#include "treaty/backends/call.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli::call {

struct CallOptions {
  const backends::Provider* provider = nullptr;
  const backends::Protocol* protocol = nullptr;
  std::string base_url{};  // Made whole; may come from the environment.
  std::string key{};       // From the environment; empty when there is none.
  backends::Call call{};
  std::string ca_file{};
  std::string prices_file{};
  std::chrono::milliseconds timeout{600'000};
  bool json = false;
};

// Why a call cannot even be tried, and with what to exit.
struct CallRefusal {
  int code = kWrongUsage;
  std::string message{};
};

std::expected<CallOptions, CallRefusal> read_call_options(const Arguments& arguments);

}  // namespace treaty::cli::call
