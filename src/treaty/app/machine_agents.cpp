#include "treaty/app/machine_agents.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <filesystem>

#include "treaty/backends/flatagent/read_flat_agent.h"
#include "treaty/base/files.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"

namespace treaty::app {

namespace asio = boost::asio;

namespace {

using backends::Read;
using boost::json::object;
using contracts::AgentResult;
using machines::Dynamic;

constexpr std::size_t kLargestFile = std::size_t{10} << 20U;

Read<std::string> read_text(const std::string& path) {
  auto text = read_file(path, kLargestFile);
  if (!text) return std::unexpected(text.error().message);
  if (text->size() > kLargestFile) return std::unexpected("it is larger than 10 MiB");
  return *std::move(text);
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

AgentResult not_found(const std::string& name, const std::string& why) {
  AgentResult result;
  result.finish_reason = "error";
  result.error = contracts::AgentError{.message = fmt::format("the agent {}: {}", name, why),
                                       .code = "agent_not_found",
                                       .type = "AgentNotFound",
                                       .retryable = false};
  return result;
}

// An output may be as deep as documents are, and stands in one.
Dynamic value_of(const AgentResult& result) {
  const std::string text = contracts::encode(result);
  const json::Document document(
      text, {.max_size = text.size() + 1, .max_depth = 2 * json::ReadOptions().max_depth});
  return document.root() ? json::to_dynamic(*document.root()) : Dynamic();
}

std::string key_of(const Dynamic& source, const std::string& directory) {
  json::Writer writer;
  json::write(writer, source);
  return fmt::format("{}\n{}", directory, writer.take());
}

}  // namespace

asio::awaitable<Dynamic> DispatchedAgents::call(const machines::AgentCall& call) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  const Found agent = find(call);
  AgentResult result =
      agent ? co_await (*agent)->ask(call) : not_found(call.agent.name, agent.error());
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return value_of(result);
}

DispatchedAgents::Found DispatchedAgents::find(const machines::AgentCall& call) {
  const std::string key = key_of(call.agent.source, call.directory);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Found found = resolve(call.agent.source, call.directory.empty() ? "." : call.directory);
  if (found) known_[key] = *found;
  return found;
}

DispatchedAgents::Found DispatchedAgents::resolve(const Dynamic& source,
                                                  const std::string& directory) {
  if (source.is_string()) return resolve_text(std::string(source.get_string()), directory);
  if (!source.is_object()) {
    return std::unexpected(fmt::format("it is {}; write a path, a flatagent or {{type, ref}}",
                                       backends::kind_of(source)));
  }
  const object& written = source.get_object();
  TREATY_TRY(const auto type, backends::text_member(written, "type"));
  if (type) return resolve_typed(*type, written, directory);
  return flat_agent(source, directory, directory);
}

// A path, or the name of an agent of treaty.yaml. What is both is the file.
DispatchedAgents::Found DispatchedAgents::resolve_text(const std::string& text,
                                                       const std::string& directory) {
  const std::string path = backends::path_from(directory, text);
  if (!is_file(path) && routes_.configuration()->turns.agents.contains(text)) {
    return configured_agent(text);
  }
  const auto bytes = read_text(path);
  if (!bytes) return std::unexpected(fmt::format("{}: {}", path, bytes.error()));
  const auto document = backends::parse_document(*bytes);
  if (!document) return std::unexpected(fmt::format("{}: {}", path, document.error()));
  Found found = flat_agent(*document, backends::directory_of(path), directory);
  if (!found) return std::unexpected(fmt::format("{}: {}", path, found.error()));
  return found;
}

DispatchedAgents::Found DispatchedAgents::resolve_typed(const std::string& type,
                                                        const object& source,
                                                        const std::string& directory) {
  TREATY_TRY(const auto ref, backends::text_member(source, "ref"));
  const Dynamic* config = backends::member_of(source, "config");
  if (config != nullptr && !config->is_object()) return std::unexpected("`config` is no mapping");
  if (type == "flatagent") {
    if (ref) return resolve_text(*ref, directory);
    if (config == nullptr) return std::unexpected("it has neither `ref` nor `config`");
    return flat_agent(*config, directory, directory);
  }
  if (type == "treaty") {
    return configured_agent(ref.value_or(std::string(turns::kDefaultAgent)));
  }
  if (type == "command") {
    if (config == nullptr) return std::unexpected("it has no `config: {command: [argv]}`");
    TREATY_TRY(auto command, backends::read_command_agent(config->get_object(), directory));
    return asked_command(std::move(command), routes_.secrets());
  }
  return std::unexpected(
      fmt::format("agents of the type {} are not supported yet; there are flatagent, treaty and "
                  "command",
                  type));
}

DispatchedAgents::Found DispatchedAgents::flat_agent(const Dynamic& document,
                                                     const std::string& own_directory,
                                                     const std::string& machine_directory) {
  TREATY_TRY(auto agent, backends::read_flat_agent(document, {.directory = own_directory,
                                                              .parent_directory = machine_directory,
                                                              .read_text = read_text}));
  TREATY_TRY(auto route, routes_.find(agent.profile));
  const auto deadline =
      std::chrono::duration<double>(routes_.configuration()->turn_deadline).count();
  return asked_flat_agent(std::move(agent), std::move(route), deadline);
}

DispatchedAgents::Found DispatchedAgents::configured_agent(const std::string& name) {
  const auto& configuration = routes_.configuration();
  const turns::Agent* agent = configuration->turns.find_agent(name);
  if (agent == nullptr) {
    return std::unexpected(fmt::format("treaty.yaml has no agent {}", name));
  }
  if (!agent->budget.is_empty() && !routes_.has_store()) {
    return std::unexpected(
        "its budget is kept in the store of treaty.yaml, which this run does not use");
  }
  return asked_configured_agent({configuration, agent}, routes_.dispatcher());
}

std::expected<std::unique_ptr<machines::Agents>, Error> open_machine_agents(
    asio::io_context& context, const config::Configuration& configuration, store::Store* store) {
  TREATY_TRY(auto shared, share_backends(configuration,
                                         std::make_shared<dispatch::Pools>(system_clock()), store));
  auto dispatcher = make_dispatcher(context, configuration, shared);
  return std::make_unique<DispatchedAgents>(
      context, std::make_shared<const config::Configuration>(configuration), std::move(shared),
      std::move(dispatcher));
}

}  // namespace treaty::app
