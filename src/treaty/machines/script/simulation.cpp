#include "treaty/machines/script/simulation.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/base/yaml.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/machines/run/agent_values.h"
#include "treaty/results/errors.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

double delay_of(const Object& answer) { return std::max(number_in(answer, "_delay"), 0.0); }

// What a backend throws is classified by its words, as an error body would be.
Object thrown(const std::string& text) {
  const Headers none;
  // "429 Too Many Requests": backends in other processes begin with the status.
  std::optional<int> status;
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_status = failure == std::errc() && number >= 100 && number < 600 &&
                         (end == text.data() + text.size() || *end == ' ');
  if (is_status) status = number;
  const contracts::AgentError error =
      results::classify_error({.status = status, .headers = none, .body = text});
  return failed_result(make_error(error.code.value_or("server_error"), "AgentFailure", text,
                                  error.retryable.value_or(true)));
}

using Lists = std::map<std::string, List, std::less<>>;

std::expected<Lists, std::string> lists_in(const Object& object, std::string_view what) {
  Lists lists;
  for (const auto& member : object) {
    const auto* list = member.value().if_array();
    if (list == nullptr) {
      return std::unexpected(
          fmt::format("'{}' of `{}` must be a list", std::string_view(member.key()), what));
    }
    lists.emplace(member.key(), *list);
  }
  return lists;
}

std::expected<Object, std::string> root_of(std::string_view text) {
  const json::Document document(text);
  if (const auto root = document.root(); root && document.faults().empty()) {
    if (!root->is_object()) return std::unexpected("it is not a mapping");
    return json::to_dynamic_object(*root);
  }
  const auto node = yaml::read(text);
  if (!node)
    return std::unexpected(fmt::format("{} ({})", node.error().message, node.error().where));
  const std::string as_json = yaml::to_json(*node);
  const json::Document converted(as_json);
  const auto root = converted.root();
  if (!root || !root->is_object()) return std::unexpected("it is not a mapping");
  return json::to_dynamic_object(*root);
}

std::expected<Script::Crash, std::string> crash_of(const Object& object) {
  const Dynamic step = value_in(object, "step");
  if (text_in(object, "at").empty() || !step.is_int64()) {
    return std::unexpected("`crash` needs `at`, an event, and `step`, a number");
  }
  return Script::Crash{.event = text_of(object, "at"), .step = step.get_int64()};
}

}  // namespace

asio::awaitable<bool> VirtualTimeline::wait(double seconds) {
  now_ += std::max(seconds, 0.0);
  co_return true;
}

asio::awaitable<bool> VirtualTimeline::within(double deadline, Job job) {
  co_await job();
  co_return now_ < deadline;
}

asio::awaitable<void> VirtualTimeline::together(std::vector<Job> jobs, std::size_t /*at_once*/,
                                                std::function<bool()> is_enough) {
  const double began = now_;
  double ended = began;
  for (const Job& job : jobs) {
    now_ = began;
    co_await job();
    ended = std::max(ended, now_);
    if (is_enough && is_enough()) break;
  }
  now_ = ended;
}

asio::awaitable<void> VirtualTimeline::alongside(Job job, Job /*other*/) { co_await job(); }

asio::awaitable<void> VirtualTimeline::beside(Job job) {
  const double began = now_;
  co_await job();
  now_ = began;
}

bool VirtualTimeline::spend(double seconds, double deadline) {
  const bool is_cut = now_ + seconds >= deadline;
  now_ = is_cut ? std::max(deadline, now_) : now_ + seconds;
  return !is_cut;
}

Simulation::Simulation(Script script, double unix_now)
    : script_(std::move(script)), timeline_(unix_now) {}

const Dynamic* Simulation::next(const std::map<std::string, List, std::less<>>& lists,
                                std::string_view kind, const std::string& name) {
  const auto place = static_cast<std::size_t>(asked_[fmt::format("{}:{}", kind, name)]++);
  const auto found = lists.find(name);
  if (found == lists.end() || place >= found->second.size()) return nullptr;
  return &found->second[place];
}

asio::awaitable<Dynamic> Simulation::call(const AgentCall& call) {
  const Dynamic* found = next(script_.agents, "agent", call.agent.name);
  if (found == nullptr) {
    co_return failed_result(
        make_error("script_exhausted", "ScriptExhausted",
                   fmt::format("The script has no more answers of '{}'.", call.agent.name)));
  }
  const auto* answer = found->if_object();
  if (answer == nullptr) co_return *found;
  Object rest = *answer;
  if (const double delay = delay_of(rest); delay > 0) timeline_.spend(delay, call.deadline);
  if (const auto member = rest.find("_delay"); member != rest.end()) rest.stable_erase(member);
  if (rest.contains("_throw")) co_return thrown(text_of(rest, "_throw"));
  co_return rest;
}

asio::awaitable<std::optional<ToolOutcome>> Simulation::run(const ToolInvocation& call,
                                                            double deadline) {
  const Dynamic* found = next(script_.tools, "tool", call.name);
  if (found == nullptr) {
    co_return tools::no_provider_for(call.name);
  }
  const auto* answer = found->if_object();
  if (answer == nullptr) co_return ToolOutcome{.content = templates::print(*found)};
  timeline_.spend(delay_of(*answer), deadline);
  const Dynamic* content = answer->if_contains("content");
  co_return ToolOutcome{.content = content == nullptr ? "" : templates::print(*content),
                        .is_error = templates::is_true(value_in(*answer, "is_error"))};
}

class Simulation::ScriptedHook final : public Hook {
 public:
  ScriptedHook(Simulation& simulation, std::string name)
      : simulation_(simulation), name_(std::move(name)) {}

  asio::awaitable<std::expected<HookReply, std::string>> handle(const HookEvent& event) override {
    const std::string what = text_of(event, "event");
    const auto& events = simulation_.script_.hooks.find(name_)->second;
    const auto place =
        static_cast<std::size_t>(simulation_.asked_[fmt::format("hook:{}:{}", name_, what)]++);
    const auto replies = events.find("on_" + what);
    if (replies == events.end() || place >= replies->second.size()) co_return HookReply();
    const auto* reply = replies->second[place].if_object();
    if (reply == nullptr) co_return std::unexpected("the script's reply is no object");
    if (reply->contains("fail")) co_return std::unexpected(text_of(*reply, "fail"));
    co_return *reply;
  }

 private:
  Simulation& simulation_;
  std::string name_;
};

class Simulation::RecordedHook final : public Hook {
 public:
  RecordedHook(Simulation& simulation, std::string name, std::shared_ptr<Hook> hook)
      : simulation_(simulation), name_(std::move(name)), hook_(std::move(hook)) {}

  asio::awaitable<std::expected<HookReply, std::string>> handle(const HookEvent& event) override {
    Object line = {{"hook", name_}};
    for (const auto& member : event) line[member.key()] = member.value();
    simulation_.recorded_.emplace_back(std::move(line));
    co_return co_await hook_->handle(event);
  }

  bool is_outside() const override { return hook_->is_outside(); }

 private:
  Simulation& simulation_;
  std::string name_;
  std::shared_ptr<Hook> hook_;
};

HookRegistry Simulation::hooks(const HookRegistry& others) {
  HookRegistry all;
  for (const auto& [name, make] : others) {
    const bool is_silent = name != "command" && name != "webhook";
    if (is_silent) {
      all.emplace(name, make);
      continue;
    }
    all.emplace(name,
                [this, name, make](
                    const HookOrder& order) -> std::expected<std::shared_ptr<Hook>, std::string> {
                  auto made = make(order);
                  if (!made) return made;
                  return std::make_shared<RecordedHook>(*this, name, std::move(*made));
                });
  }
  for (const auto& [name, _] : script_.hooks) {
    all.insert_or_assign(
        name, [this, name](const HookOrder&) -> std::expected<std::shared_ptr<Hook>, std::string> {
          return std::make_shared<RecordedHook>(*this, name,
                                                std::make_shared<ScriptedHook>(*this, name));
        });
  }
  return all;
}

AfterWrite Simulation::after_write() const {
  if (!script_.crash) return {};
  return [crash = *script_.crash](std::string_view event, std::int64_t step) {
    if (event == crash.event && step == crash.step) ::kill(::getpid(), SIGKILL);
  };
}

std::expected<Script, std::string> read_script(std::string_view text) {
  TREATY_TRY(const Object root, root_of(text));
  Script script;
  for (const auto& member : root) {
    const std::string name(member.key());
    if (member.value().is_null()) continue;
    const auto* object = member.value().if_object();
    if (object == nullptr) return std::unexpected(fmt::format("`{}` must be a mapping", name));
    if (name == "agents" || name == "tools" || name == "signals") {
      TREATY_TRY((name == "agents"  ? script.agents
                  : name == "tools" ? script.tools
                                    : script.signals),
                 lists_in(*object, name));
    } else if (name == "hooks") {
      for (const auto& hook : *object) {
        const auto* events = hook.value().if_object();
        if (events == nullptr) return std::unexpected("each of `hooks` must be a mapping");
        TREATY_TRY(script.hooks[std::string(hook.key())],
                   lists_in(*events, std::string_view(hook.key())));
      }
    } else if (name == "crash") {
      TREATY_TRY(script.crash, crash_of(*object));
    } else {
      return std::unexpected(fmt::format(
          "`{}` is not known; there are agents, hooks, tools, signals and crash", name));
    }
  }
  return script;
}

}  // namespace treaty::machines
