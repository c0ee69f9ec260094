// Client tools that commands of the user's run: `--tool NAME='COMMAND'`.
//
// A command is run by /bin/sh exactly as the user wrote it. What the model wrote reaches it on
// stdin and in variables alone, never as a part of the command.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "treaty/base/process/child.h"
#include "treaty/cli/command_line.h"
#include "treaty/contracts/tools.h"

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

// Of a command that could not be started: why.
using ToolRun = std::expected<process::Run, std::string>;

// What a run came to, as the model will read it: the output as ResultJson when it is JSON, else as
// a JSON string; a failure as ErrorMessage. Never blank.
std::variant<contracts::ResultJson, contracts::ErrorMessage> outcome_of(
    const std::string& tool, const ToolRun& run, std::chrono::milliseconds time_limit);

// A text as ResultJson, under the same rule.
contracts::ResultJson result_of_text(std::string_view text);

// Runs the command of the call's tool, which is there.
boost::asio::awaitable<ToolRun> run_tool(const ClientTools& tools, const contracts::ToolCall& call);

// The same on this thread, until `interrupt` (a descriptor, or -1) becomes readable. Of a tool
// without a command: nothing.
std::optional<ToolRun> run_tool_here(const ClientTools& tools, const contracts::ToolCall& call,
                                     int interrupt);

}  // namespace treaty::cli
