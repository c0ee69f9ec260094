// An agent that uses tools until it answers, or until a limit (machines.md section 6). What the
// loop knows is in every checkpoint: a tool that has run is not run again.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/machines/journal/line_reading.h"
#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace {

constexpr std::string_view kEnough =
    "No more tools can be used. Answer now, with what is known so far.";

Value content_of(const Object& result) {
  const auto content = result.find("content");
  return content == result.end() ? Value() : content->value();
}

Object assistant_message(const Object& result) {
  Object message = {{"role", "assistant"}};
  message["content"] = content_of(result);
  if (const auto calls = result.find("tool_calls"); calls != result.end()) {
    message["tool_calls"] = calls->value();
  }
  return message;
}

bool has_text(const Value& content) {
  return content.is_string() && !is_blank(content.get_string());
}

std::optional<double> number_in(const Value& value) {
  if (value.is_null()) return 0;
  if (value.is_number()) return value.to_number<double>();
  const auto* text = value.if_string();
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  const std::string copy(*text);
  const double number = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0') return std::nullopt;
  return number;
}

}  // namespace

Attempt<LoopLimits> ExecutionRun::limits_of(const State& state) const {
  LoopLimits limits;
  const ToolLoop& how = *state.tool_loop;
  const auto number = [&](const std::optional<Template>& source, std::string_view name,
                          double& limit) -> Attempt<void> {
    if (!source) return {};
    auto value = render(*source, scope());
    if (!value) return std::unexpected(std::move(value.error()));
    const auto found = number_in(*value);
    if (!found || !(*found >= 0)) {
      return template_failure(fmt::format("tool_loop.{} is {}, and not a number of 0 or more.",
                                          name, templates::print(*value)));
    }
    limit = *found;
    return {};
  };
  const auto names = [&](const std::optional<Template>& source,
                         std::set<std::string>& list) -> Attempt<void> {
    if (!source) return {};
    auto value = render(*source, scope());
    if (!value) return std::unexpected(std::move(value.error()));
    if (!value->is_array()) return template_failure("A list of tools was expected.");
    for (const Value& one : value->get_array()) list.insert(templates::print(one));
    return {};
  };
  Attempt<void> read = number(how.max_turns, "max_turns", limits.max_turns);
  if (read) read = number(how.max_tool_calls, "max_tool_calls", limits.max_tool_calls);
  if (read) read = number(how.tool_timeout, "tool_timeout", limits.tool_timeout);
  if (read) read = number(how.total_timeout, "total_timeout", limits.total_timeout);
  if (read) read = number(how.max_cost, "max_cost", limits.max_cost);
  if (read) read = names(how.allowed_tools, limits.allowed);
  if (read) read = names(how.denied_tools, limits.denied);
  if (!read) return std::unexpected(std::move(read.error()));
  return limits;
}

ExecutionRun::Task<ExecutionRun::Worked> ExecutionRun::run_tool_loop(const State& state,
                                                                     AgentCall& call) {
  auto limits = limits_of(state);
  if (!limits) co_return std::unexpected(std::move(limits.error()));
  if (!loop_) {
    loop_.emplace();
    for (const std::string_view name : {"_tool_loop_stop", "_abort_tool_loop", "_skip_tools"}) {
      Object& context = context_.get_object();
      if (const auto old = context.find(name); old != context.end()) context.stable_erase(old);
    }
  }
  loop_->began = world_.timeline.now() - loop_->seconds;
  const std::vector<backends::Tool> offered = tools_for(*limits);
  call.tools = offered;
  bool goes_on = true;
  if (loop_->tool_calls > 0) {  // An earlier runner did not act on what it saw after the tool.
    Attempt<bool> stays = is_told_to_abort() ? Attempt<bool>(false) : looks_for_exit(state);
    if (!stays) co_return std::unexpected(std::move(stays.error()));
    goes_on = *stays;
  }
  while (goes_on) {
    Attempt<bool> turn = co_await run_loop_turn(state, call, *limits);
    if (!turn) co_return std::unexpected(std::move(turn.error()));
    goes_on = *turn;
    if (!waiting_tools_.empty())
      co_return Worked(Waiting{std::string(store::kToolChannels) + start_.execution});
  }
  Loop& loop = *loop_;
  Work work;
  const bool is_limit =
      loop.stop != "complete" && loop.stop != "aborted" && loop.stop != "transition";
  if (is_limit && error_of(loop.result) == nullptr && !has_text(content_of(loop.result))) {
    if (auto forced = co_await force_answer(state, call); !forced) {
      co_return std::unexpected(std::move(forced.error()));
    }
  }
  if (error_of(loop.result) == nullptr) {
    work.output = Object{{"content", content_of(loop.result)},
                         {"_tool_calls_count", loop.tool_calls},
                         {"_tool_loop_turns", loop.turns},
                         {"_tool_loop_cost", loop.cost},
                         {"_tool_loop_stop", loop.stop}};
    loop.result["output"] = work.output;
    context_.get_object()["_tool_loop_stop"] = loop.stop;
  }
  show_loop();
  work.left_to = loop.left_to;
  work.result = std::move(loop.result);
  co_return Worked(std::move(work));
}

std::string ExecutionRun::limit_reached(const LoopLimits& limits) const {
  const Loop& loop = *loop_;
  const double took = world_.timeline.now() - loop.began;
  if (limits.total_timeout > 0 && took >= limits.total_timeout) return "timeout";
  if (limits.max_turns > 0 && static_cast<double>(loop.turns) >= limits.max_turns) {
    return "max_turns";
  }
  if (limits.max_cost > 0 && loop.cost >= limits.max_cost) return "cost_limit";
  return "";
}

// False: the loop is over.
ExecutionRun::Task<bool> ExecutionRun::run_loop_turn(const State& state, AgentCall& call,
                                                     const LoopLimits& limits) {
  Loop& loop = *loop_;
  if (loop.pending.empty()) {
    loop.stop = limit_reached(limits);
    if (!loop.stop.empty()) co_return false;
    call.chain = loop.chain;
    Attempt<Object> result = co_await execute(state, call);
    if (!result) co_return std::unexpected(std::move(result.error()));
    ++loop.turns;
    loop.calls = next_call_;
    loop.waits = next_wait_;
    loop.cost += spent_by(*result).cost;
    loop.result = std::move(*result);
    show_loop();
    if (error_of(loop.result) != nullptr) co_return false;
    loop.chain.emplace_back(assistant_message(loop.result));
    const auto calls = loop.result.find("tool_calls");
    const bool has_calls = calls != loop.result.end() && calls->value().is_array() &&
                           !calls->value().get_array().empty();
    if (text_of(loop.result, "finish_reason") != "tool_use" || !has_calls) {
      loop.stop = "complete";
      co_return false;
    }
    loop.pending = calls->value().get_array();
    loop.next = 0;
    const double after =
        static_cast<double>(loop.tool_calls) + static_cast<double>(loop.pending.size());
    if (limits.max_tool_calls > 0 && after > limits.max_tool_calls) {
      loop.stop = "max_tool_calls";
      co_return false;
    }
    Object details = {{"state", state.name}, {"tool_calls", loop.pending}};
    if (auto told = co_await tell(state.hooks, "tool_calls", std::move(details)); !told) {
      co_return std::unexpected(std::move(told.error()));
    }
    if (is_told_to_abort()) co_return false;
    loop.skipped = take_list("_skip_tools");
  }
  co_return co_await run_tools(state, limits);
}

ExecutionRun::Task<bool> ExecutionRun::run_tools(const State& state, const LoopLimits& limits) {
  Loop& loop = *loop_;
  while (loop.next < loop.pending.size()) {
    const Value wanted = loop.pending[loop.next];
    Attempt<bool> goes_on =
        co_await run_tool(state, limits, wanted.is_object() ? wanted.get_object() : Object());
    if (!goes_on) co_return goes_on;
    if (!*goes_on) co_return false;
  }
  loop.pending.clear();
  loop.next = 0;
  for (const Value& message : take_list("_steering_messages")) {
    if (message.is_object()) {
      loop.chain.push_back(message);
    } else {
      loop.chain.emplace_back(Object{{"role", "user"}, {"content", templates::print(message)}});
    }
  }
  co_return true;
}

// One call more, without tools: what was found out is not lost.
ExecutionRun::Task<void> ExecutionRun::force_answer(const State& state, AgentCall& call) {
  Loop& loop = *loop_;
  answer_unmade_calls();
  call.chain = loop.chain;
  call.chain.emplace_back(Object{{"role", "user"}, {"content", kEnough}});
  call.without_tools = true;
  Attempt<Object> result = co_await ask(state, call);
  if (!result) co_return std::unexpected(std::move(result.error()));
  if (error_of(*result) != nullptr || has_text(content_of(*result))) {
    loop.result = std::move(*result);
  }
  co_return Attempt<void>();
}

// Conditional transitions may leave the loop after a tool. One about an answer that is not there
// yet does not hold.
Attempt<bool> ExecutionRun::looks_for_exit(const State& state) {
  if (state.kind == StateKind::final) return true;
  const Value nothing = Object();
  const Value result = loop_->result;
  for (const Transition& transition : state.transitions) {
    if (!transition.condition) continue;
    const auto holds = transition.condition->holds(scope(&nothing, &result));
    if (!holds || !*holds) continue;
    loop_->stop = "transition";
    loop_->left_to = transition.to;
    return false;
  }
  return true;
}

bool ExecutionRun::is_told_to_abort() {
  Object& context = context_.get_object();
  const auto found = context.find("_abort_tool_loop");
  if (found == context.end()) return false;
  const bool is_meant = templates::is_true(found->value());
  context.stable_erase(found);
  if (is_meant) loop_->stop = "aborted";
  return is_meant;
}

List ExecutionRun::take_list(std::string_view name) {
  Object& context = context_.get_object();
  const auto found = context.find(name);
  if (found == context.end()) return {};
  List list;
  if (found->value().is_array()) {
    list = found->value().get_array();
  } else if (templates::is_true(found->value())) {
    list.push_back(found->value());
  }
  context.stable_erase(found);
  return list;
}

void ExecutionRun::show_loop() {
  Object& context = context_.get_object();
  context["_tool_loop_turns"] = loop_->turns;
  context["_tool_loop_cost"] = loop_->cost;
  context["_tool_calls_count"] = loop_->tool_calls;
  context["_tool_loop_content"] = content_of(loop_->result);
}

Object ExecutionRun::loop_state() const {
  const Loop& loop = *loop_;
  return {{"chain", loop.chain},
          {"turns", loop.turns},
          {"tool_calls_count", loop.tool_calls},
          {"loop_cost", loop.cost},
          {"calls", loop.calls},
          {"waits", loop.waits},
          {"seconds", loop.seconds},
          {"pending", loop.pending},
          {"next", static_cast<std::int64_t>(loop.next)},
          {"skipped", loop.skipped},
          {"result", loop.result}};
}

void ExecutionRun::restore_loop(const Object& kept) {
  Loop& loop = loop_.emplace();
  loop.chain = lines::list(kept, "chain");
  loop.turns = lines::whole(kept, "turns");
  loop.tool_calls = lines::whole(kept, "tool_calls_count");
  loop.cost = lines::number(kept, "loop_cost");
  loop.calls = lines::whole(kept, "calls");
  loop.waits = lines::whole(kept, "waits");
  loop.seconds = lines::number(kept, "seconds");
  loop.pending = lines::list(kept, "pending");
  loop.next = static_cast<std::size_t>(std::max<std::int64_t>(lines::whole(kept, "next"), 0));
  loop.skipped = lines::list(kept, "skipped");
  loop.result = lines::object(kept, "result");
  calls_ += loop.calls;
  for (const auto& [number, waited] : replayed().waits) {
    if (number < loop.waits) waits_.push_back(waited.seconds);
  }
}

}  // namespace treaty::machines
