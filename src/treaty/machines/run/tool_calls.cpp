// The calls that a model makes in a tool loop: which are made, by whom, and how each is answered.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kNotMade = "This call was not made: the limit of tool calls is reached.";

Object tool_message(const ToolCall& call, std::string_view content, bool is_error) {
  return {{"role", "tool"},
          {"tool_call_id", call.id},
          {"name", call.name},
          {"content", content},
          {"is_error", is_error}};
}

// Models and scripts write arguments as a text, or as what the text means.
ToolCall tool_call_of(const Object& call) {
  ToolCall wanted{.id = text_of(call, "id"), .name = text_of(call, "name"), .arguments = "{}"};
  if (const auto arguments = call.find("arguments"); arguments != call.end()) {
    wanted.arguments = templates::print(arguments->value());
  }
  return wanted;
}

bool is_among(const std::vector<backends::Tool>& tools, std::string_view name) {
  return std::ranges::find(tools, name, &backends::Tool::name) != tools.end();
}

}  // namespace

ExecutionRun::Task<bool> ExecutionRun::run_tool(const State& state, const LoopLimits& limits,
                                                const Object& wanted) {
  Loop& loop = *loop_;
  const ToolCall call = tool_call_at(loop.next);
  if (const std::string why = refusal_of(limits, call); !why.empty()) {
    loop.chain.emplace_back(tool_message(call, why, true));
    ++loop.next;
    co_return true;
  }
  bool is_outside = false;
  const auto known = replayed().tools.find(loop.tool_calls);
  const bool is_known = known != replayed().tools.end();
  Attempt<ToolOutcome> outcome =
      is_known ? Attempt<ToolOutcome>(known->second) : co_await use_tool(limits, call, is_outside);
  if (!outcome) co_return std::unexpected(std::move(outcome.error()));
  if (is_outside) {
    note_waiting_tools(limits);
    loop.seconds = world_.timeline.now() - loop.began;  // Waiting does not count.
    const std::string channel = std::string(store::kToolChannels) + start_.execution;
    if (auto kept = co_await checkpoint("waiting", state.name, nullptr, channel); !kept) {
      co_return std::unexpected(std::move(kept.error()));
    }
    co_return false;
  }
  if (error_of(loop.result) != nullptr) co_return false;
  if (!is_known) {
    auto noted = co_await note("noted", tool_line(step_, loop.tool_calls, call.name, *outcome));
    if (!noted) co_return std::unexpected(std::move(noted.error()));
  }
  ++loop.tool_calls;
  ++loop.next;
  loop.chain.emplace_back(tool_message(call, outcome->content, outcome->is_error));
  show_loop();
  const auto arguments = wanted.find("arguments");
  Object told = {{"tool_call_id", call.id}, {"name", call.name}};
  told["arguments"] = arguments == wanted.end() ? Value(call.arguments) : arguments->value();
  told["content"] = outcome->content;
  told["is_error"] = outcome->is_error;
  Object details = {{"state", state.name}, {"tool_result", std::move(told)}};
  Attempt<void> going = co_await tell(state.hooks, "tool_result", std::move(details));
  loop.seconds = world_.timeline.now() - loop.began;
  if (going) going = co_await checkpoint("tool_call", state.name);
  if (!going) co_return std::unexpected(std::move(going.error()));
  if (is_told_to_abort()) co_return false;
  co_return looks_for_exit(state);
}

ToolCall ExecutionRun::tool_call_at(std::size_t place) const {
  const Loop& loop = *loop_;
  const auto* wanted = loop.pending[place].if_object();
  ToolCall call = tool_call_of(wanted == nullptr ? Object() : *wanted);
  call.key = fmt::format("{}:{}:{}:{}", start_.execution, step_, loop.turns, place);
  call.is_offered = world_.offered_tools && is_among(*world_.offered_tools, call.name);
  return call;
}

// Why a call is not made; empty: it is.
std::string ExecutionRun::refusal_of(const LoopLimits& limits, const ToolCall& call) const {
  const bool is_skipped = std::ranges::any_of(loop_->skipped, [&](const Value& name) {
    return name.is_string() && (name.get_string() == call.id || name.get_string() == call.name);
  });
  if (is_skipped) return fmt::format("Tool '{}' was skipped by policy.", call.name);
  if (limits.allows(call.name)) return "";
  return fmt::format("Tool '{}' is not allowed.", call.name);
}

std::vector<backends::Tool> ExecutionRun::tools_for(const LoopLimits& limits) const {
  std::vector<backends::Tool> tools;
  if (!world_.offered_tools) return tools;
  std::ranges::copy_if(*world_.offered_tools, std::back_inserter(tools),
                       [&](const backends::Tool& tool) { return limits.allows(tool.name); });
  return tools;
}

// Whoever is outside gets all of its calls at once: those of the tools that it offers, if it says
// which.
void ExecutionRun::note_waiting_tools(const LoopLimits& limits) {
  for (std::size_t i = loop_->next; i < loop_->pending.size(); ++i) {
    const ToolCall call = tool_call_at(i);
    const bool is_theirs = call.is_offered || !world_.offered_tools;
    if (i > loop_->next && (!is_theirs || !refusal_of(limits, call).empty())) continue;
    waiting_tools_.emplace_back(Object{
        {"id", call.id}, {"name", call.name}, {"arguments", call.arguments}, {"key", call.key}});
  }
}

ExecutionRun::Task<ToolOutcome> ExecutionRun::use_tool(const LoopLimits& limits,
                                                       const ToolCall& call, bool& is_outside) {
  if (auto written = co_await flush(); !written) {
    co_return std::unexpected(std::move(written.error()));
  }
  look("tool", path_.back(), call.name);
  const double now = world_.timeline.now();
  const double own = limits.tool_timeout > 0 ? now + limits.tool_timeout : kNever;
  const double deadline = std::min(own, deadline_);
  std::optional<ToolOutcome> outcome;
  const bool is_in_time = co_await world_.timeline.within(deadline, [&]() -> asio::awaitable<void> {
    outcome = co_await world_.tools.run(call, deadline);
  });
  if (auto going = check_stopping(); !going) co_return std::unexpected(std::move(going.error()));
  if (!is_in_time && deadline == deadline_) {  // The state's own: it is in the AgentResult.
    loop_->result = failed_result(state_timeout(path_.back()));
    co_return ToolOutcome{};
  }
  if (!is_in_time) {
    co_return ToolOutcome{
        .content = fmt::format("Tool '{}' timed out after {} s", call.name, limits.tool_timeout),
        .is_error = true};
  }
  is_outside = !outcome;
  co_return outcome.value_or(ToolOutcome());
}

// Calls that a limit keeps from being made are answered, too: providers refuse a chain in which
// they are not.
void ExecutionRun::answer_unmade_calls() {
  Loop& loop = *loop_;
  for (std::size_t i = loop.next; i < loop.pending.size(); ++i) {
    loop.chain.emplace_back(tool_message(tool_call_at(i), kNotMade, true));
  }
  loop.pending.clear();
  loop.next = 0;
}

}  // namespace treaty::machines
