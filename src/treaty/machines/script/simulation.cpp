#include "treaty/machines/script/simulation.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "treaty/contracts/agent_result.h"
#include "treaty/machines/run/agent_values.h"
#include "treaty/results/errors.h"

namespace treaty::machines {

namespace asio = boost::asio;

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

namespace {

double delay_of(const Object& answer) {
  const auto found = answer.find("_delay");
  if (found == answer.end() || !found->value().is_number()) return 0;
  return std::max(found->value().to_number<double>(), 0.0);
}

// What a backend throws becomes an error by its words (results.md section 3).
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

}  // namespace

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
  const auto error = answer->find("is_error");
  const auto content = answer->find("content");
  co_return ToolOutcome{
      .content = content == answer->end() ? "" : templates::print(content->value()),
      .is_error = error != answer->end() && templates::is_true(error->value())};
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

}  // namespace treaty::machines
