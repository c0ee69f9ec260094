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

#include "treaty/cli/command_line.h"
#include "treaty/cli/shared/tool_process.h"
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

// What a run came to, as the model will read it: the output as ResultJson when it is JSON, else as
// a JSON string; a failure as ErrorMessage. Never blank.
std::variant<contracts::ResultJson, contracts::ErrorMessage> outcome_of(
    const std::string& tool, const ProcessRun& run, std::chrono::milliseconds time_limit);

// A text as ResultJson, under the same rule.
contracts::ResultJson result_of_text(std::string_view text);

// Runs the command that stands for the call. Of a tool without one: nothing.
std::optional<ProcessRun> run_tool(const ClientTools& tools, const contracts::ToolCall& call,
                                   int interrupt);

}  // namespace treaty::cli
