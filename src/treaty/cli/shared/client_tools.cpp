#include "treaty/cli/shared/client_tools.h"

#include <fmt/format.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <cmath>
#include <limits>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {

namespace asio = boost::asio;

namespace {

using contracts::ErrorMessage;
using contracts::ResultJson;
using process::Reading;
using tools::ToolInvocation;
using tools::ToolOutcome;

// A single variable cannot be much longer (128 KiB), and then nothing would start at all.
constexpr std::size_t kLongestVariable = std::size_t{96} << 10U;

constexpr std::size_t kMostOutput = std::size_t{1} << 20U;

Result<std::chrono::milliseconds> read_time_limit(const std::string& text) {
  const auto seconds = parse_number<double>(text);
  if (!seconds || !(*seconds > 0 && *seconds <= 86'400)) {
    return misused("--tool-timeout is a number of seconds, up to 86400");
  }
  return std::chrono::milliseconds(std::lround(std::ceil(*seconds * 1000)));
}

// Valid UTF-8, whatever it was.
std::string readable(std::string_view bytes) {
  return is_utf8(bytes) ? std::string(bytes) : harmless_lines(bytes);
}

std::string failure_text(const std::string& tool, const process::Run& run,
                         std::chrono::milliseconds time_limit) {
  switch (run.reading) {
    case Reading::timed_out:
      return fmt::format("{} was ended after its time limit of {} s", tool,
                         static_cast<double>(time_limit.count()) / 1000);
    case Reading::too_large: return fmt::format("{} wrote more than is allowed", tool);
    case Reading::cancelled: return fmt::format("{} was interrupted by the user", tool);
    case Reading::closed:
    case Reading::complete: break;
  }
  if (run.exit.signal != 0) return fmt::format("{} was ended by signal {}", tool, run.exit.signal);
  return fmt::format("{} ended with exit code {}", tool, run.exit.code);
}

}  // namespace

std::vector<Option> client_tool_options() {
  return {{"--tool", "NAME=COMMAND", "Run a client tool: arguments (JSON) on stdin", {}, true},
          {"--tool-timeout", "SECONDS", "For each run of a tool (60)"}};
}

Result<std::string> read_tool_name(std::string name) {
  if (contracts::is_tool_name(name)) return name;
  return misused(fmt::format(
      "--tool: \"{}\" is no name of a tool: letters, digits, _ and -, at most 64", harmless(name)));
}

Result<ClientTools> read_client_tools(const Arguments& arguments) {
  ClientTools tools;
  for (const std::string& word : arguments.all("--tool")) {
    const std::size_t equals = word.find('=');
    TREATY_TRY(const auto name, read_tool_name(word.substr(0, equals)));
    const std::string command = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (is_blank(command)) {
      return misused(
          fmt::format("--tool: say what {} runs, for example --tool {}='cat'", name, name));
    }
    if (!tools.commands.emplace(name, command).second) {
      return misused(fmt::format("--tool: there are two commands for {}", name));
    }
  }
  if (arguments.has("--tool-timeout")) {
    TREATY_TRY(const auto limit, read_time_limit(arguments.get("--tool-timeout")));
    tools.time_limit = limit;
  }
  return tools;
}

std::variant<ResultJson, ErrorMessage> contract_outcome(const ToolOutcome& outcome) {
  std::string_view text = outcome.content;
  if (outcome.is_error) return ErrorMessage{outcome.content};
  if (const auto json = trimmed(text); !json.empty() && json::is_json(json)) {
    return ResultJson{std::string(json)};
  }
  if (text.ends_with('\n')) text.remove_suffix(1);
  ResultJson result;
  json::append_quoted(result.text, text);
  return result;
}

ToolOutcome outcome_of(const std::string& tool, const ToolRun& run,
                       std::chrono::milliseconds time_limit) {
  if (!run) return tools::failed_outcome(fmt::format("{} did not start: {}", tool, run.error()));
  const bool has_exited = run->reading == Reading::complete && run->exit.signal == 0;
  if (has_exited && run->exit.code == 0) {
    if (is_utf8(run->output)) return {.content = run->output};
    return tools::failed_outcome(
        fmt::format("{} wrote {} bytes that are not UTF-8", tool, run->output.size()));
  }
  const std::string told = readable(trimmed(run->errors));
  const std::string failure = failure_text(tool, *run, time_limit);
  if (has_exited && !is_blank(told)) return tools::failed_outcome(told);
  return tools::failed_outcome(is_blank(told) ? failure : fmt::format("{}: {}", failure, told));
}

asio::awaitable<std::optional<ToolOutcome>> ToolCommands::run(const ToolInvocation& call,
                                                              double /*deadline*/) {
  const auto command = tools_.commands.find(call.name);
  if (command == tools_.commands.end()) co_return tools::no_provider_for(call.name);
  co_await asio::this_coro::throw_if_cancelled(false);
  process::Program shell{.words = {"/bin/sh", "-c", command->second, "sh"},
                         .variables = {{"TREATY_TOOL_NAME", call.name}},
                         .may_be_outlived = true};
  if (call.arguments.size() <= kLongestVariable) {
    shell.variables.emplace_back("TREATY_TOOL_ARGUMENTS", call.arguments);
  }
  const ToolRun run = co_await process::run(std::move(shell), call.arguments,
                                            std::chrono::steady_clock::now() + tools_.time_limit,
                                            {.output_bytes = kMostOutput});
  co_return outcome_of(call.name, run, tools_.time_limit);
}

std::optional<ToolOutcome> run_here(tools::ToolRunner& runner, const ToolInvocation& call,
                                    int interrupt) {
  asio::io_context context(1);
  asio::cancellation_signal cancellation;
  asio::posix::stream_descriptor interrupted(context);
  bool is_interrupted = false;
  if (interrupt >= 0) {
    interrupted.assign(interrupt);
    interrupted.async_wait(asio::posix::stream_descriptor::wait_read,
                           [&](const boost::system::error_code& error) {
                             if (error) return;
                             is_interrupted = true;
                             cancellation.emit(asio::cancellation_type::terminal);
                           });
  }
  bool has_ended = false;
  std::optional<ToolOutcome> outcome;
  asio::co_spawn(
      context, runner.run(call, std::numeric_limits<double>::infinity()),
      asio::bind_cancellation_slot(
          cancellation.slot(), [&](const std::exception_ptr&, std::optional<ToolOutcome> ended) {
            has_ended = true;
            if (!is_interrupted) outcome = std::move(ended);
          }));
  while (!has_ended && context.run_one() > 0) {
  }
  if (interrupt >= 0) interrupted.release();  // It stays the caller's.
  return outcome;
}

}  // namespace treaty::cli
