// The calls that a model makes in a tool loop: which are run, by whom, and how each is answered.
// Whoever has declared a tool checks the arguments: turns, for the tools of a client
// (turns/step.cpp). A tool of the command line has no schema that they could be checked against.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/try.h"
#include "treaty/machines/run/tool_loop.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kNotMade = "This call was not made: the limit of tool calls is reached.";

Object tool_message(const ToolInvocation& call, std::string_view content, bool is_error) {
  return {{"role", "tool"},
          {"tool_call_id", call.id},
          {"name", call.name},
          {"content", content},
          {"is_error", is_error}};
}

// Models and scripts write arguments as a text, or as what the text means.
ToolInvocation tool_call_of(const Object& call) {
  ToolInvocation wanted{
      .id = text_of(call, "id"), .name = text_of(call, "name"), .arguments = "{}"};
  if (const Dynamic* arguments = call.if_contains("arguments")) {
    wanted.arguments = templates::print(*arguments);
  }
  return wanted;
}

}  // namespace

RunTask<bool> ToolLoopRun::run_tools() {
  while (loop().next < loop().pending.size()) {
    TREATY_CO_TRY(const bool goes_on, co_await run_tool());
    if (!goes_on) co_return false;
  }
  loop().pending.clear();
  loop().next = 0;
  co_return true;
}

// False: the loop is over, or waits for whoever has the tool.
RunTask<bool> ToolLoopRun::run_tool() {
  ToolLoopState& loop = this->loop();
  const ToolInvocation call = tool_call_at(loop.next);
  if (const std::string why = refusal_of(call); !why.empty()) {
    loop.chain.emplace_back(tool_message(call, why, true));
    ++loop.next;
    co_return true;
  }
  bool is_outside = false;
  const auto& known = run_.replayed().tools;
  const auto found = known.find(loop.tool_calls);
  const bool is_known = found != known.end();
  ToolOutcome outcome;
  if (is_known) {
    outcome = found->second;
  } else {
    TREATY_CO_TRY(outcome, co_await use_tool(call, is_outside));
  }
  if (is_outside) {
    list_waiting_tools();
    loop.seconds = run_.world.timeline.now() - loop.began;  // Waiting does not count.
    const std::string channel = std::string(store::kToolChannels) + run_.start.execution;
    TREATY_CO_TRY_VOID(co_await run_.checkpoint("waiting", state_.name, nullptr, channel));
    co_return false;
  }
  if (error_of(loop.result) != nullptr) co_return false;
  if (!is_known) {
    TREATY_CO_TRY_VOID(
        co_await run_.note("noted", tool_line(run_.step, loop.tool_calls, call.name, outcome)));
  }
  TREATY_CO_TRY_VOID(co_await report(call, outcome));
  if (is_told_to_abort()) co_return false;
  co_return check_exit();
}

// Tells the model and the hooks what a tool answered, and writes the checkpoint after it.
RunTask<void> ToolLoopRun::report(const ToolInvocation& call, const ToolOutcome& outcome) {
  ToolLoopState& loop = this->loop();
  Dynamic arguments(call.arguments);
  if (const auto* wanted = loop.pending[loop.next].if_object()) {
    if (const auto* written = wanted->if_contains("arguments")) arguments = *written;
  }
  ++loop.tool_calls;
  ++loop.next;
  loop.chain.emplace_back(tool_message(call, outcome.content, outcome.is_error));
  publish_progress();
  Object told = {{"tool_call_id", call.id},
                 {"name", call.name},
                 {"arguments", std::move(arguments)},
                 {"content", outcome.content},
                 {"is_error", outcome.is_error}};
  Object details = {{"state", state_.name}, {"tool_result", std::move(told)}};
  TREATY_CO_TRY_VOID(co_await hooks_.call(state_.hooks, "tool_result", std::move(details)));
  loop.seconds = run_.world.timeline.now() - loop.began;
  co_return co_await run_.checkpoint("tool_call", state_.name);
}

ToolInvocation ToolLoopRun::tool_call_at(std::size_t place) const {
  const ToolLoopState& loop = this->loop();
  const auto* wanted = loop.pending[place].if_object();
  ToolInvocation call = tool_call_of(wanted == nullptr ? Object() : *wanted);
  call.key = fmt::format("{}:{}:{}:{}", run_.start.execution, run_.step, loop.turns, place);
  call.is_offered =
      run_.world.offered_tools && tools::declares(*run_.world.offered_tools, call.name);
  return call;
}

std::string ToolLoopRun::refusal_of(const ToolInvocation& call) const {
  const bool is_skipped = std::ranges::any_of(loop().skipped, [&](const Dynamic& name) {
    return name.is_string() && (name.get_string() == call.id || name.get_string() == call.name);
  });
  if (is_skipped) return fmt::format("Tool '{}' was skipped by policy.", call.name);
  if (limits_.allows(call.name)) return "";
  return fmt::format("Tool '{}' is not allowed.", call.name);
}

std::vector<backends::Tool> ToolLoopRun::offered_tools() const {
  std::vector<backends::Tool> tools;
  if (!run_.world.offered_tools) return tools;
  std::ranges::copy_if(*run_.world.offered_tools, std::back_inserter(tools),
                       [&](const backends::Tool& tool) { return limits_.allows(tool.name); });
  return tools;
}

// Whoever runs the machine gets all the calls that are theirs at once.
void ToolLoopRun::list_waiting_tools() {
  for (std::size_t i = loop().next; i < loop().pending.size(); ++i) {
    const ToolInvocation call = tool_call_at(i);
    const bool is_theirs = call.is_offered || !run_.world.offered_tools;
    if (i > loop().next && (!is_theirs || !refusal_of(call).empty())) continue;
    run_.waiting_tools.emplace_back(Object{
        {"id", call.id}, {"name", call.name}, {"arguments", call.arguments}, {"key", call.key}});
  }
}

RunTask<ToolOutcome> ToolLoopRun::use_tool(const ToolInvocation& call, bool& is_outside) {
  TREATY_CO_TRY_VOID(co_await run_.flush());
  run_.observe("tool", state_.name, call.name);
  const double now = run_.world.timeline.now();
  const double own = limits_.tool_timeout > 0 ? now + limits_.tool_timeout : kNever;
  const double total = limits_.total_timeout > 0 ? loop().began + limits_.total_timeout : kNever;
  const double deadline = std::min({own, total, run_.deadline});
  std::optional<ToolOutcome> outcome;
  const bool is_in_time = co_await run_.world.timeline.within(
      deadline,
      [&]() -> asio::awaitable<void> { outcome = co_await run_.world.tools.run(call, deadline); });
  TREATY_CO_TRY_VOID(run_.check_stopping());
  if (!is_in_time && deadline == run_.deadline) {  // The state's own: it is in the AgentResult.
    loop().result = failed_result(state_timeout(state_.name));
    co_return ToolOutcome{};
  }
  if (!is_in_time && deadline == total) {  // The next turn of the loop ends it.
    co_return ToolOutcome{.content = fmt::format("Tool '{}' was stopped: the loop took longer than "
                                                 "its total_timeout of {} s",
                                                 call.name, limits_.total_timeout),
                          .is_error = true};
  }
  if (!is_in_time) {
    co_return ToolOutcome{
        .content = fmt::format("Tool '{}' timed out after {} s", call.name, limits_.tool_timeout),
        .is_error = true};
  }
  is_outside = !outcome;
  co_return outcome.value_or(ToolOutcome());
}

// Providers refuse a chain in which a call has no answer.
void ToolLoopRun::answer_unmade_calls() {
  ToolLoopState& loop = this->loop();
  for (std::size_t i = loop.next; i < loop.pending.size(); ++i) {
    loop.chain.emplace_back(tool_message(tool_call_at(i), kNotMade, true));
  }
  loop.pending.clear();
  loop.next = 0;
}

}  // namespace treaty::machines
