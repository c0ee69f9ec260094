#include "treaty/app/asked_agents.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/backends/flatagent/render_flat_agent.h"
#include "treaty/backends/masked_backend.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/dispatch/budgets/budget.h"
#include "treaty/dispatch/totals.h"

namespace treaty::app {

namespace asio = boost::asio;

namespace {

using contracts::AgentResult;

class NoSink final : public backends::Sink {
 public:
  void on_text(std::string_view /*delta*/) override {}
};

class NoObserver final : public dispatch::Observer {
 public:
  void on_attempt_started(const dispatch::Choice& /*choice*/, int /*attempt*/) override {}
  void on_attempt_ended(const dispatch::Choice& /*choice*/, int /*attempt*/,
                        dispatch::Seconds /*took*/, const AgentResult& /*result*/) override {}
  void on_waiting(const dispatch::Choice& /*choice*/, dispatch::Seconds /*wait*/,
                  std::string_view /*reason*/) override {}
  void on_switched(const dispatch::Choice& /*from*/, const dispatch::Choice& /*to*/,
                   std::string_view /*reason*/) override {}
  void on_breaker(const dispatch::Choice& /*choice*/, bool /*is_open*/) override {}
  void on_given_up(const dispatch::Choice& /*choice*/, std::string_view /*reason*/) override {}
};

// Machines and dispatch read the same clock.
asio::awaitable<AgentResult> dispatched(const ModelRoute& route, backends::Call call,
                                        double deadline, dispatch::Seconds longest,
                                        std::vector<store::BudgetLimit> budgets = {}) {
  NoSink sink;
  NoObserver observer;
  const double now = route.dispatcher->pools().now();
  auto ended = co_await route.dispatcher->run({.chain = route.chain,
                                               .deadline = std::min(deadline, now + longest),
                                               .budgets = std::move(budgets)},
                                              std::move(call), sink, observer);
  co_return std::move(ended.result);
}

// Tools of whoever runs the machine, beside the agent's own.
void offer(std::vector<backends::Tool>& own, std::span<const backends::Tool> more) {
  for (const backends::Tool& tool : more) {
    if (std::ranges::find(own, tool.name, &backends::Tool::name) == own.end()) own.push_back(tool);
  }
}

class FlatAgentAsked final : public AskedAgent {
 public:
  FlatAgentAsked(backends::FlatAgent agent, ModelRoute route, dispatch::Seconds deadline)
      : agent_(std::move(agent)), route_(std::move(route)), deadline_(deadline) {}

  asio::awaitable<AgentResult> ask(const machines::AgentCall& call) override {
    auto prompt = backends::render(
        agent_, {.input = call.input, .chain = call.chain, .without_tools = call.without_tools});
    if (!prompt) co_return not_rendered(prompt.error());
    if (!call.without_tools) offer(prompt->tools, call.tools);
    AgentResult result = co_await dispatched(route_, *prompt, call.deadline, deadline_);
    const auto complaint = backends::read_answer(agent_, *prompt, result);
    if (!complaint) co_return result;
    dispatch::Totals totals;
    totals.add(result);
    result = co_await dispatched(route_, backends::with_complaint(*prompt, result, *complaint),
                                 call.deadline, deadline_);
    totals.add(result);
    const auto again = backends::read_answer(agent_, *prompt, result);
    if (again) backends::refuse_output(result, *again);
    totals.give_to(result);
    co_return result;
  }

 private:
  AgentResult not_rendered(const std::string& why) const {
    AgentResult result;
    result.finish_reason = "error";
    result.error = contracts::AgentError{
        .message = fmt::format("the prompt of {} cannot be rendered: {}", agent_.name, why),
        .code = "template_error",
        .type = "TemplateError",
        .retryable = false};
    return result;
  }

  backends::FlatAgent agent_;
  ModelRoute route_;
  dispatch::Seconds deadline_;
};

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
    prompt.asker = call.key;
    prompt.depth = call.depth;
    const dispatch::Seconds longest = std::chrono::duration<double>(agent_->deadline).count();
    co_return co_await dispatched(route_, std::move(prompt), call.deadline, longest, budgets());
  }

 private:
  std::vector<store::BudgetLimit> budgets() const {
    if (agent_->budget.is_empty()) return {};
    return {{dispatch::scope_of("agent", agent_->name), agent_->budget.tokens,
             agent_->budget.picodollars}};
  }

  std::shared_ptr<const turns::Agent> agent_;
  ModelRoute route_;
};

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

std::string prompt_of(const machines::Dynamic& input) {
  if (input.is_string()) return std::string(input.get_string());
  if (input.is_object() && input.get_object().size() == 1 &&
      input.get_object().begin()->value().is_string()) {
    return std::string(input.get_object().begin()->value().get_string());
  }
  json::Writer writer(json::Layout::indented);
  json::write(writer, input);
  return writer.take();
}

std::shared_ptr<AskedAgent> asked_flat_agent(backends::FlatAgent agent, ModelRoute route,
                                             dispatch::Seconds deadline) {
  return std::make_shared<FlatAgentAsked>(std::move(agent), std::move(route), deadline);
}

std::shared_ptr<AskedAgent> asked_configured_agent(
    std::shared_ptr<const turns::Agent> agent, std::shared_ptr<dispatch::Dispatcher> dispatcher) {
  return std::make_shared<ConfiguredAgentAsked>(std::move(agent), std::move(dispatcher));
}

std::shared_ptr<AskedAgent> asked_command(backends::CommandAgent agent,
                                          std::shared_ptr<const KnownSecrets> secrets) {
  return std::make_shared<CommandAsked>(std::move(agent), std::move(secrets));
}

}  // namespace treaty::app
