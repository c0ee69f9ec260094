#include "treaty/app/machine_agents.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <filesystem>

#include "treaty/app/loop_thoughts.h"
#include "treaty/backends/command/command_agent.h"
#include "treaty/backends/flatagent/read_flat_agent.h"
#include "treaty/backends/flatagent/render_flat_agent.h"
#include "treaty/backends/masked_backend.h"
#include "treaty/base/files.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/dispatch/budgets/budget.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/dispatch/structured_answer.h"

namespace treaty::app {

namespace asio = boost::asio;

// An agent that was found, ready to be asked. Any number of calls may run at once.
class AskedAgent {
 public:
  virtual ~AskedAgent() = default;
  virtual boost::asio::awaitable<contracts::AgentResult> ask(const machines::AgentCall& call) = 0;
};

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
  return backends::failed_result("agent_not_found", "AgentNotFound",
                                 fmt::format("the agent {}: {}", name, why), false);
}

// An output may be as deep as documents are, and stands in one.
Dynamic value_of(const AgentResult& result) {
  const std::string text = contracts::encode(result);
  const json::Document document(
      text, {.max_size = text.size() + 1, .max_depth = 2 * json::ReadOptions().max_depth});
  return document.root() ? json::to_dynamic(*document.root()) : Dynamic();
}

std::string key_of(const Dynamic& source, const std::string& directory) {
  return fmt::format("{}\n{}", directory, json::to_json(source));
}

class NoSink final : public backends::Sink {
 public:
  void on_text(std::string_view /*delta*/) override {}
};

// Tells the machine what dispatch does for a call.
class CallObserver final : public dispatch::Observer {
 public:
  explicit CallObserver(const machines::AgentCall& asked) : asked_(asked) {}

  void on_waiting(const dispatch::Choice& choice, dispatch::Seconds wait,
                  const dispatch::Why& why) override {
    note(why, fmt::format("{} waits: {}", choice.backend, why.reason), wait);
  }
  void on_asked_again(const dispatch::Choice& choice, const dispatch::Why& why) override {
    note(why, fmt::format("{} is asked again: {}", choice.backend, why.reason));
  }
  void on_thoughts_dropped(const dispatch::Choice& choice, const dispatch::Why& why) override {
    note(why, fmt::format("{}: {}", choice.backend, why.reason));
  }
  void on_switched(const dispatch::Choice& from, const dispatch::Choice& to,
                   const dispatch::Why& why) override {
    note(why, fmt::format("switches from {} ({}) to {} ({}): {}", from.backend, from.model,
                          to.backend, to.model, why.reason));
  }
  void on_given_up(const dispatch::Choice& choice, const dispatch::Why& why) override {
    note(why, fmt::format("fails after {}: {}", choice.backend, why.reason));
  }

 private:
  void note(const dispatch::Why& why, std::string reason, dispatch::Seconds seconds = 0) const {
    if (asked_.on_note) asked_.on_note({name_of(why.rule), std::move(reason), seconds});
  }

  const machines::AgentCall& asked_;
};

// Machines and dispatch read the same clock.
asio::awaitable<AgentResult> dispatched(const ModelRoute& route, LoopThoughts& thoughts,
                                        const machines::AgentCall& asked, backends::Call call,
                                        dispatch::Seconds longest,
                                        std::vector<store::BudgetLimit> budgets = {}) {
  const std::string loop = asked.key.substr(0, asked.key.rfind(':'));
  thoughts.put_back(loop, call.messages);
  NoSink sink;
  CallObserver observer(asked);
  const double now = route.dispatcher->pools().now();
  auto ended = co_await route.dispatcher->run({.chain = route.chain,
                                               .deadline = std::min(asked.deadline, now + longest),
                                               .budgets = std::move(budgets)},
                                              std::move(call), sink, observer);
  thoughts.keep(loop, ended.result, std::move(ended.thoughts));
  co_return std::move(ended.result);
}

// Adds the tools that the caller of the machine offers. The agent's own take precedence.
void offer(std::vector<backends::Tool>& own, std::span<const backends::Tool> more) {
  for (const backends::Tool& tool : more) {
    if (std::ranges::find(own, tool.name, &backends::Tool::name) == own.end()) own.push_back(tool);
  }
}

// Whether a second round may read what a provider has cached: one without tools has no second.
bool is_asked_again(const backends::Call& call) { return !call.tools.empty(); }

// A FlatAgent on a route to its model.
class FlatAgentAsked final : public AskedAgent {
 public:
  FlatAgentAsked(backends::FlatAgent agent, ModelRoute route, dispatch::Seconds deadline)
      : agent_(std::move(agent)), route_(std::move(route)), deadline_(deadline) {}

  asio::awaitable<AgentResult> ask(const machines::AgentCall& call) override {
    auto prompt = backends::render(
        agent_, {.input = call.input, .chain = call.chain, .without_tools = call.without_tools});
    if (!prompt) co_return not_rendered(prompt.error());
    if (!call.without_tools) offer(prompt->tools, call.tools);
    prompt->caches = is_asked_again(*prompt);
    const dispatch::AskOnce ask = [&](backends::Call one) {
      return dispatched(route_, thoughts_, call, std::move(one), deadline_);
    };
    if (!agent_.output) co_return co_await ask(*std::move(prompt));
    co_return co_await dispatch::ask_for_output(*std::move(prompt), agent_.output->schema, ask);
  }

 private:
  AgentResult not_rendered(const std::string& why) const {
    return backends::failed_result(
        "template_error", "TemplateError",
        fmt::format("the prompt of {} cannot be rendered: {}", agent_.name, why), false);
  }

  backends::FlatAgent agent_;
  ModelRoute route_;
  dispatch::Seconds deadline_;
  LoopThoughts thoughts_{};
};

// The prompt of an agent of treaty.yaml: the input if it is a text, otherwise the input as JSON.
std::string prompt_of(const machines::Dynamic& input) {
  if (input.is_string()) return std::string(input.get_string());
  if (input.is_object() && input.get_object().size() == 1 &&
      input.get_object().begin()->value().is_string()) {
    return std::string(input.get_object().begin()->value().get_string());
  }
  return json::to_json(input, json::Layout::indented);
}

// An agent of treaty.yaml: its system prompt, its tools, its chain, its budget.
class ConfiguredAgentAsked final : public AskedAgent {
 public:
  ConfiguredAgentAsked(std::shared_ptr<const turns::Agent> agent,
                       std::shared_ptr<dispatch::Dispatcher> dispatcher)
      : agent_(std::move(agent)), route_{std::move(dispatcher), agent_->chain} {}

  asio::awaitable<AgentResult> ask(const machines::AgentCall& call) override {
    backends::Call prompt{.model = {}, .system = agent_->role.system};
    prompt.messages.push_back(
        backends::UserMessage{.parts = {backends::TextPart{prompt_of(call.input)}}});
    backends::append_chain(prompt.messages, call.chain);
    if (!call.without_tools) {
      for (const turns::ClientTool& tool : agent_->role.tools) {
        prompt.tools.push_back(tool.declaration);
      }
      offer(prompt.tools, call.tools);
    }
    prompt.caches = is_asked_again(prompt);
    prompt.asker = call.key;
    prompt.origin = call.origin;
    prompt.depth = call.depth;
    const dispatch::Seconds longest = std::chrono::duration<double>(agent_->deadline).count();
    co_return co_await dispatched(route_, thoughts_, call, std::move(prompt), longest, budgets());
  }

 private:
  std::vector<store::BudgetLimit> budgets() const {
    if (agent_->budget.is_empty()) return {};
    return {{dispatch::scope_of("agent", agent_->name), agent_->budget.tokens,
             agent_->budget.picodollars}};
  }

  std::shared_ptr<const turns::Agent> agent_;
  ModelRoute route_;
  LoopThoughts thoughts_{};
};

// A program. What it says is masked like the words of providers.
class CommandAsked final : public AskedAgent {
 public:
  CommandAsked(backends::CommandAgent agent, std::shared_ptr<const KnownSecrets> secrets)
      : agent_(std::move(agent)), secrets_(std::move(secrets)) {}

  asio::awaitable<AgentResult> ask(const machines::AgentCall& call) override {
    const std::string question = question_of(call);
    process::Time deadline = process::Time::max();
    if (call.deadline != machines::kNever) {
      deadline = process::Time(std::chrono::duration_cast<process::Time::duration>(
          std::chrono::duration<double>(call.deadline)));
    }
    AgentResult result = co_await backends::run(agent_, question, deadline);
    backends::mask(result, *secrets_);
    co_return result;
  }

 private:
  static std::string question_of(const machines::AgentCall& call) {
    json::Writer writer;
    json::write(writer.begin_object().name("input"), call.input);
    writer.name("context").begin_object().end_object();
    writer.member("agent", call.agent.name);
    if (call.session_id) writer.member("session_id", *call.session_id);
    writer.member("turn_id", call.key);
    if (!call.chain.empty()) json::write(writer.name("messages"), machines::Dynamic(call.chain));
    return writer.end_object().take() + "\n";
  }

  backends::CommandAgent agent_;
  std::shared_ptr<const KnownSecrets> secrets_;
};

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
  if (!is_file(path) && routes_.services().configuration->turns.agents.contains(text)) {
    return configured_agent(text);
  }
  TREATY_TRY(const auto bytes, backends::at(path, read_text(path)));
  TREATY_TRY(const auto document, backends::at(path, backends::parse_document(bytes)));
  return backends::at(path, flat_agent(document, backends::directory_of(path), directory));
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
    return std::make_shared<CommandAsked>(std::move(command), routes_.services().shared->secrets);
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
  TREATY_TRY(auto route, routes_.find(agent.profile, !agent.tools.empty()));
  const auto deadline =
      std::chrono::duration<double>(routes_.services().configuration->turn_deadline).count();
  return std::make_shared<FlatAgentAsked>(std::move(agent), std::move(route), deadline);
}

DispatchedAgents::Found DispatchedAgents::configured_agent(const std::string& name) {
  const auto& configuration = routes_.services().configuration;
  const turns::Agent* agent = configuration->turns.find_agent(name);
  if (agent == nullptr) {
    return std::unexpected(fmt::format("treaty.yaml has no agent {}", name));
  }
  if (!agent->budget.is_empty() && routes_.services().shared->store == nullptr) {
    return std::unexpected(
        "its budget is kept in the store of treaty.yaml, which this run does not use");
  }
  return std::make_shared<ConfiguredAgentAsked>(
      std::shared_ptr<const turns::Agent>(configuration, agent), routes_.services().dispatcher);
}

std::expected<std::unique_ptr<machines::Agents>, Error> open_machine_agents(
    asio::io_context& context, const config::Configuration& configuration, store::Store* store) {
  TREATY_TRY(auto shared, share_backends(configuration,
                                         std::make_shared<dispatch::Pools>(system_clock()), store));
  auto dispatcher = make_backends(context, configuration, shared).dispatcher;
  return std::make_unique<DispatchedAgents>(
      AgentServices{context, std::make_shared<const config::Configuration>(configuration),
                    std::move(shared), std::move(dispatcher)});
}

}  // namespace treaty::app
