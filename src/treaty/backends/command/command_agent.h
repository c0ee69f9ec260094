// An agent that is a program: one JSON object on its stdin, an AgentResult on its stdout.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#include "treaty/base/process/child.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::backends {

struct CommandAgent {
  process::Program program{};
  std::chrono::milliseconds timeout{300'000};
};

// {command: [argv], timeout?: seconds}; it runs in `directory`.
std::expected<CommandAgent, std::string> read_command_agent(const boost::json::object& config,
                                                            const std::string& directory);

// What a program that ended well has said: an AgentResult, what `pi` runners write ({output,
// content, usage, cost, raw}), any other object as output, any other text as content.
contracts::AgentResult result_of_output(std::string_view output);

// Never an error of its own: a program that fails is a failed call. Cancelling the coroutine, or
// `deadline`, ends the program with everything that it has started.
boost::asio::awaitable<contracts::AgentResult> run(const CommandAgent& agent,
                                                   std::string_view question,
                                                   process::Time deadline);

}  // namespace treaty::backends
