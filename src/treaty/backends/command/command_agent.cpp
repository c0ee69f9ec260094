#include "treaty/backends/command/command_agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "treaty/backends/backend.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/secrets.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"

namespace treaty::backends {

namespace asio = boost::asio;

namespace {

using boost::json::object;
using boost::json::value;
using contracts::AgentResult;

constexpr double kLongestTimeout = 86'400;  // Seconds.

AgentResult failed(std::string code, std::string type, const std::string& message, bool retryable) {
  return failed_result(std::move(code), std::move(type), mask_secrets(message), retryable);
}

std::int64_t count_in(const object& usage, std::string_view name) {
  const value* found = usage.if_contains(name);
  if (found == nullptr || !found->is_number()) return 0;
  const double count = found->to_number<double>();
  return count > 0 && count < 1e15 ? static_cast<std::int64_t>(count) : 0;
}

// `pi` counts cached tokens beside the input; a contract counts them in it.
void translate_usage(object& result) {
  value* usage = result.if_contains("usage");
  if (usage == nullptr || !usage->is_object()) return;
  const object counted = usage->get_object();
  if (!counted.contains("input") || counted.contains("input_tokens")) return;
  const std::int64_t read = count_in(counted, "cacheRead");
  const std::int64_t written = count_in(counted, "cacheWrite");
  const std::int64_t input = count_in(counted, "input") + read + written;
  const std::int64_t output = count_in(counted, "output");
  *usage = object{{"input_tokens", input},          {"output_tokens", output},
                  {"total_tokens", input + output}, {"cache_read_tokens", read},
                  {"cache_write_tokens", written},  {"api_calls", 1}};
}

AgentResult result_of_members(object members) {
  members.erase("raw");
  translate_usage(members);
  auto decoded = contracts::decode_agent_result(json::to_json(members));
  if (decoded) return *std::move(decoded);
  return failed("server_error", "MalformedAnswer",
                fmt::format("the program's answer is no AgentResult: {} ({})",
                            decoded.error().front().message, decoded.error().front().where),
                true);
}

}  // namespace

std::expected<CommandAgent, std::string> read_command_agent(const object& config,
                                                            const std::string& directory) {
  CommandAgent agent{.program = {.words = {}, .directory = directory}};
  const value* command = config.if_contains("command");
  const auto is_word = [](const value& word) {
    return word.is_string() && word.get_string().find('\0') == boost::json::string::npos;
  };
  if (command == nullptr || !command->is_array() || command->get_array().empty() ||
      !std::ranges::all_of(command->get_array(), is_word) ||
      command->get_array().front().get_string().empty()) {
    return std::unexpected("config.command is not a list of words, such as [python3, ./agent.py]");
  }
  for (const value& word : command->get_array()) {
    agent.program.words.emplace_back(word.get_string());
  }
  const value* timeout = config.if_contains("timeout");
  if (timeout == nullptr) return agent;
  const double seconds = timeout->is_number() ? timeout->to_number<double>() : 0;
  if (!(seconds > 0)) {
    return std::unexpected("config.timeout is not a number of seconds greater than 0");
  }
  agent.timeout = std::chrono::ceil<std::chrono::milliseconds>(
      std::chrono::duration<double>(std::min(seconds, kLongestTimeout)));
  return agent;
}

AgentResult result_of_output(std::string_view output) {
  const std::string_view text = trimmed(output);
  const json::Document document(text);
  const auto root = document.root();
  AgentResult result;
  if (!document.faults().empty() || !root || !root->is_object()) {
    result.content = repaired_utf8(text);
    result.finish_reason = "stop";
    return result;
  }
  object members = json::to_dynamic_object(*root);
  const bool is_result =
      std::ranges::any_of(contracts::kAgentResultNames,
                          [&members](std::string_view name) { return members.contains(name); });
  if (is_result) return result_of_members(std::move(members));
  result.output = json::to_text(members);
  result.finish_reason = "stop";
  return result;
}

asio::awaitable<AgentResult> run(const CommandAgent& agent, std::string_view question,
                                 process::Time deadline) {
  using process::Reading;
  const std::string name = fmt::format("`{}`", process::text_of(agent.program));
  const auto last = std::min(deadline, std::chrono::steady_clock::now() + agent.timeout);
  auto run = co_await process::run(agent.program, question, last);
  if (!run) co_return failed("agent_not_found", "AgentNotFound", run.error(), false);
  if (run->reading == Reading::cancelled) {
    co_return aborted_result(cancelled_error("the caller went away"));
  }
  if (run->reading == Reading::too_large) {
    co_return failed("server_error", "AnswerTooLarge",
                     fmt::format("{} wrote more than 16 MiB", name), true);
  }
  if (run->reading == Reading::timed_out) {
    co_return failed("timeout", "Timeout",
                     fmt::format("{} did not answer in time ({:g} s)", name,
                                 std::chrono::duration<double>(agent.timeout).count()),
                     true);
  }
  if (run->exit.is_success()) co_return result_of_output(run->output);
  const std::string words = process::last_error_line(run->errors);
  co_return failed("server_error", "CommandFailed",
                   fmt::format("{} ended with {}{}{}", name, process::text_of(run->exit),
                               words.empty() ? "" : ": ", words),
                   true);
}

}  // namespace treaty::backends
