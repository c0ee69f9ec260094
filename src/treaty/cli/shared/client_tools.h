// Client tools that commands of the user's run: `--tool NAME='COMMAND'`.
//
// A command is run by /bin/sh exactly as the user wrote it. What the model wrote reaches it on
// stdin and in variables alone, never as a part of the command.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/base/process/child.h"
#include "treaty/cli/command_line.h"
#include "treaty/contracts/tools.h"
#include "treaty/tools/runner.h"

namespace treaty::cli {

struct ClientTools {
  std::map<std::string, std::string, std::less<>> commands{};  // By the tool's name.
  std::chrono::milliseconds time_limit{60'000};
};

// For the commands that take tools: --tool and --tool-timeout.
std::vector<Option> client_tool_options();
Result<ClientTools> read_client_tools(const Arguments& arguments);

// The name, when it is one of a tool.
Result<std::string> read_tool_name(std::string name);

// Runs the command of a call's tool, for `run`, `chat`, `bridge` and machines. A result is the
// output as it is. The command ends after --tool-timeout; a caller with a shorter deadline cancels.
class ToolCommands final : public tools::ToolRunner {
 public:
  explicit ToolCommands(ClientTools tools) : tools_(std::move(tools)) {}

  bool has(std::string_view tool) const { return tools_.commands.contains(tool); }

  boost::asio::awaitable<std::optional<tools::ToolOutcome>> run(const tools::ToolInvocation& call,
                                                                double deadline) override;

 private:
  ClientTools tools_;
};

// Runs a call on an event loop of its own and waits for its end. Nothing when `interrupt` (a
// descriptor, or -1) became readable, which ends the call.
std::optional<tools::ToolOutcome> run_here(tools::ToolRunner& runner,
                                           const tools::ToolInvocation& call, int interrupt);

// Of a command that could not be started: why.
using ToolRun = std::expected<process::Run, std::string>;

// What a run came to, as the model will read it. A failure is never blank.
tools::ToolOutcome outcome_of(const std::string& tool, const ToolRun& run,
                              std::chrono::milliseconds time_limit);

// The outcome as part of a request (AGN-034): JSON as it is, any other text as a JSON string.
std::variant<contracts::ResultJson, contracts::ErrorMessage> contract_outcome(
    const tools::ToolOutcome& outcome);

}  // namespace treaty::cli
