#include "treaty/machines/run/tool_loop.h"

#include <fmt/format.h>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/machines/run/agent_calls.h"

namespace treaty::machines {
namespace {

constexpr std::string_view kEnough =
    "No more tools can be used. Answer now, with what is known so far.";

Dynamic content_of(const Object& result) { return value_in(result, "content"); }

Object assistant_message(const Object& result) {
  Object message = {{"role", "assistant"}};
  message["content"] = content_of(result);
  if (const Dynamic* calls = result.if_contains("tool_calls")) message["tool_calls"] = *calls;
  return message;
}

bool has_text(const Dynamic& content) {
  return content.is_string() && !is_blank(content.get_string());
}

std::optional<double> number_in(const Dynamic& value) {
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

Attempt<void> read_limit(const templates::Scope& scope, const std::optional<Template>& source,
                         std::string_view name, double& limit) {
  if (!source) return {};
  TREATY_TRY(const Dynamic value, render(*source, scope));
  const auto found = number_in(value);
  if (!found || !(*found >= 0)) {
    return template_failure(fmt::format("tool_loop.{} is {}, and not a number of 0 or more.", name,
                                        templates::print(value)));
  }
  limit = *found;
  return {};
}

Attempt<void> read_names(const templates::Scope& scope, const std::optional<Template>& source,
                         std::set<std::string>& names) {
  if (!source) return {};
  TREATY_TRY(const Dynamic value, render(*source, scope));
  if (!value.is_array()) return template_failure("A list of tools was expected.");
  for (const Dynamic& one : value.get_array()) names.insert(templates::print(one));
  return {};
}

}  // namespace

RunTask<WorkOrWaiting> ToolLoopRun::run() {
  TREATY_CO_TRY_VOID(read_limits());
  begin();
  const std::vector<backends::Tool> offered = offered_tools();
  call_.tools = offered;
  bool goes_on = true;
  if (loop().tool_calls > 0 && is_told_to_abort()) {
    goes_on = false;
  } else if (loop().tool_calls > 0) {  // An earlier runner did not get to check after the tool.
    TREATY_CO_TRY(goes_on, check_exit());
  }
  while (goes_on) {
    TREATY_CO_TRY(goes_on, co_await run_turn());
    if (!run_.waiting_tools.empty()) {
      co_return Waiting{std::string(store::kToolChannels) + run_.start.execution};
    }
  }
  const std::string& stop = loop().stop;
  const bool is_limit = stop != "complete" && stop != "aborted" && stop != "transition";
  if (is_limit && error_of(loop().result) == nullptr && !has_text(content_of(loop().result))) {
    TREATY_CO_TRY_VOID(co_await force_answer());
  }
  co_return result();
}

Attempt<void> ToolLoopRun::read_limits() {
  const ToolLoop& how = *state_.tool_loop;
  const templates::Scope scope = run_.scope();
  TREATY_TRY_VOID(read_limit(scope, how.max_turns, "max_turns", limits_.max_turns));
  TREATY_TRY_VOID(read_limit(scope, how.max_tool_calls, "max_tool_calls", limits_.max_tool_calls));
  TREATY_TRY_VOID(read_limit(scope, how.tool_timeout, "tool_timeout", limits_.tool_timeout));
  TREATY_TRY_VOID(read_limit(scope, how.total_timeout, "total_timeout", limits_.total_timeout));
  TREATY_TRY_VOID(read_limit(scope, how.max_cost, "max_cost", limits_.max_cost));
  TREATY_TRY_VOID(read_names(scope, how.allowed_tools, limits_.allowed));
  return read_names(scope, how.denied_tools, limits_.denied);
}

void ToolLoopRun::begin() {
  if (!run_.tool_loop) {
    run_.tool_loop.emplace();
    for (const std::string_view name : {"_tool_loop_stop", "_abort_tool_loop", "_skip_tools"}) {
      run_.erase_member(name);
    }
  }
  loop().began = run_.world.timeline.now() - loop().seconds;
}

StateWork ToolLoopRun::result() {
  StateWork work;
  if (error_of(loop().result) == nullptr) {
    work.output = Object{{"content", content_of(loop().result)},
                         {"_tool_calls_count", loop().tool_calls},
                         {"_tool_loop_turns", loop().turns},
                         {"_tool_loop_cost", loop().cost},
                         {"_tool_loop_stop", loop().stop}};
    loop().result["output"] = work.output;
    run_.members()["_tool_loop_stop"] = loop().stop;
  }
  publish_progress();
  work.left_to = loop().left_to;
  work.result = std::move(loop().result);
  return work;
}

std::string ToolLoopRun::limit_reached() const {
  const ToolLoopState& loop = this->loop();
  const double took = run_.world.timeline.now() - loop.began;
  if (limits_.total_timeout > 0 && took >= limits_.total_timeout) return "timeout";
  if (limits_.max_turns > 0 && static_cast<double>(loop.turns) >= limits_.max_turns) {
    return "max_turns";
  }
  if (limits_.max_cost > 0 && loop.cost >= limits_.max_cost) return "cost_limit";
  return "";
}

RunTask<bool> ToolLoopRun::run_turn() {
  if (loop().pending.empty()) {
    TREATY_CO_TRY(const bool goes_on, co_await call_model());
    if (!goes_on) co_return false;
  }
  TREATY_CO_TRY(const bool goes_on, co_await run_tools());
  if (!goes_on) co_return false;
  for (const Dynamic& message : take_list("_steering_messages")) {
    if (message.is_object()) {
      loop().chain.push_back(message);
    } else {
      loop().chain.emplace_back(Object{{"role", "user"}, {"content", templates::print(message)}});
    }
  }
  co_return true;
}

// True: the model wants tools, which are pending now.
RunTask<bool> ToolLoopRun::call_model() {
  ToolLoopState& loop = this->loop();
  loop.stop = limit_reached();
  if (!loop.stop.empty()) co_return false;
  call_.chain = loop.chain;
  TREATY_CO_TRY(loop.result, co_await execute_agent(run_, state_, call_));
  ++loop.turns;
  loop.calls = run_.next_call;
  loop.waits = run_.next_wait;
  loop.cost += spent_by(loop.result).cost;
  publish_progress();
  if (error_of(loop.result) != nullptr) co_return false;
  loop.chain.emplace_back(assistant_message(loop.result));
  loop.pending = or_empty(list_in(loop.result, "tool_calls"));
  if (text_in(loop.result, "finish_reason") != "tool_use" || loop.pending.empty()) {
    loop.pending.clear();
    loop.stop = "complete";
    co_return false;
  }
  loop.next = 0;
  const double after =
      static_cast<double>(loop.tool_calls) + static_cast<double>(loop.pending.size());
  if (limits_.max_tool_calls > 0 && after > limits_.max_tool_calls) {
    loop.stop = "max_tool_calls";
    co_return false;
  }
  Object details = {{"state", state_.name}, {"tool_calls", loop.pending}};
  TREATY_CO_TRY_VOID(co_await hooks_.call(state_.hooks, "tool_calls", std::move(details)));
  if (is_told_to_abort()) co_return false;
  loop.skipped = take_list("_skip_tools");
  co_return true;
}

// One more call, without tools, so that what was found out is not lost.
RunTask<void> ToolLoopRun::force_answer() {
  answer_unmade_calls();
  call_.chain = loop().chain;
  call_.chain.emplace_back(Object{{"role", "user"}, {"content", kEnough}});
  call_.without_tools = true;
  TREATY_CO_TRY(Object result, co_await ask_agent(run_, state_, call_));
  if (error_of(result) != nullptr || has_text(content_of(result))) {
    loop().result = std::move(result);
  }
  co_return Attempt<void>();
}

// Conditional transitions may leave the loop after a tool. One about an answer that is not there
// yet does not hold.
Attempt<bool> ToolLoopRun::check_exit() {
  if (state_.kind == StateKind::final) return true;
  const Dynamic nothing = Object();
  const Dynamic result = loop().result;
  for (const Transition& transition : state_.transitions) {
    if (!transition.condition) continue;
    const auto holds = transition.condition->holds(run_.scope(&nothing, &result));
    if (!holds || !*holds) continue;
    loop().stop = "transition";
    loop().left_to = transition.to;
    return false;
  }
  return true;
}

bool ToolLoopRun::is_told_to_abort() {
  Object& context = run_.members();
  const auto found = context.find("_abort_tool_loop");
  if (found == context.end()) return false;
  const bool is_meant = templates::is_true(found->value());
  context.stable_erase(found);
  if (is_meant) loop().stop = "aborted";
  return is_meant;
}

List ToolLoopRun::take_list(std::string_view name) {
  Object& context = run_.members();
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

void ToolLoopRun::publish_progress() {
  Object& context = run_.members();
  context["_tool_loop_turns"] = loop().turns;
  context["_tool_loop_cost"] = loop().cost;
  context["_tool_calls_count"] = loop().tool_calls;
  context["_tool_loop_content"] = content_of(loop().result);
}

}  // namespace treaty::machines
