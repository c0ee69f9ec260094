// What a state does: signals, actions, and in which order (machines.md section 4, 2).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace {

constexpr std::string_view kWaitAction = "treaty.wait";

Object object_of(const Value& data) {
  if (const auto* object = data.if_object()) return *object;
  return {{"value", data}};
}

Value parse(const std::string& text) {
  const json::Document document(text);
  const auto root = document.root();
  if (!root || !document.faults().empty()) return Value(text);  // Kept as the text that it is.
  return json::to_dynamic(*root);
}

}  // namespace

ExecutionRun::Task<ExecutionRun::Worked> ExecutionRun::perform(const State& state) {
  deadline_ = state.timeout ? world_.timeline.now() + *state.timeout : kNever;
  if (state.wait_for) co_return co_await wait_for_signal(state);
  Work work;
  if (loop_)
    co_return co_await call_agent(state);  // What comes before the loop was done before it.
  if (state.action) {
    if (auto done = co_await act(state); !done) co_return std::unexpected(std::move(done.error()));
  }
  if (!state.launch.empty()) {
    if (auto done = co_await launch(state); !done) {
      co_return std::unexpected(std::move(done.error()));
    }
  }
  if (!state.machines.empty()) {
    Attempt<std::optional<Waiting>> stands = co_await run_machines(state, work);
    if (!stands) co_return std::unexpected(std::move(stands.error()));
    if (*stands) co_return Worked(std::move(**stands));
  }
  if (state.agent) {
    Attempt<Worked> called = co_await call_agent(state);
    if (!called) co_return std::unexpected(std::move(called.error()));
    co_return called;
  }
  if (state.kind == StateKind::final && state.machines.empty() && state.output) {
    auto rendered = render_object(state.output, scope());
    if (!rendered) co_return std::unexpected(std::move(rendered.error()));
    work.output = std::move(*rendered);
    work.is_rendered = true;
  }
  co_return Worked(std::move(work));
}

ExecutionRun::Task<ExecutionRun::Worked> ExecutionRun::wait_for_signal(const State& state) {
  if (const auto& taken = replayed().signal) co_return Worked(Work{.output = object_of(*taken)});
  auto rendered = render(*state.wait_for, scope());
  if (!rendered) co_return std::unexpected(std::move(rendered.error()));
  if (rendered->is_null() || (rendered->is_string() && rendered->get_string().empty())) {
    co_return fail("wait_error", "WaitError", "The channel of `wait_for` is empty.");
  }
  const std::string channel = templates::print(*rendered);

  // Both ways carry what has gathered so far: a signal is taken together with the checkpoint.
  if (auto stands = co_await checkpoint("waiting", state.name, nullptr, channel); !stands) {
    co_return std::unexpected(std::move(stands.error()));
  }
  store::MachineWrite waiting = notebook_.take();
  if (!notebook_.is_kept()) {  // Nobody else can go on with it, but signals are taken by a lease.
    const auto lease = co_await notebook_.store().acquire(start_.execution);
    if (!lease) co_return lost(lease.error());
    waiting.token = lease->token;
    waiting.releases = true;
  }
  store::MachineWrite going = waiting;
  if (!going.checkpoints.empty() && going.checkpoints.back().event == "waiting") {
    going.checkpoints.pop_back();
  }
  const auto taken = [&](const std::string& data) {
    store::MachineWrite write = going;
    if (notebook_.is_kept()) write.journal.push_back(signal_line(step_, parse(data)));
    return write;
  };
  auto signal = co_await notebook_.store().take_signal(channel, taken, std::move(waiting));
  if (!signal) co_return lost(std::move(signal.error()));
  if (!*signal) co_return Worked(Waiting{channel});
  co_return Worked(Work{.output = object_of(parse(**signal))});
}

ExecutionRun::Task<void> ExecutionRun::act(const State& state) {
  if (*state.action == kWaitAction) co_return co_await wait_as_told(state);
  if (const auto& done = replayed().action) {
    for (const Value& reply : *done) {
      if (auto merged = merge(reply.get_object()); !merged) co_return merged;
    }
    co_return Attempt<void>();
  }
  List changes;  // In their order: what one removes the next may set.
  const auto gather = [&](const HookReply& reply, Object&) -> Attempt<bool> {
    Object change;
    for (const std::string_view member : {"context", "unset"}) {
      if (reply.contains(member)) change[member] = reply.at(member);
    }
    changes.emplace_back(std::move(change));
    return false;
  };
  Object details = {{"state", state.name}, {"action", *state.action}};
  Attempt<void> told = co_await tell(state.hooks, "action", std::move(details), gather);
  if (!told) co_return told;
  co_return co_await note("noted", action_line(step_, changes));
}

ExecutionRun::Task<void> ExecutionRun::wait_as_told(const State& state) {
  const Object& context = context_.get_object();
  const auto found = context.find("wait_seconds");
  const Value seconds = found == context.end() ? Value(0) : found->value();
  const bool is_number = seconds.is_number() && !seconds.is_bool();
  const double wait = is_number ? seconds.to_number<double>() : -1;
  if (!std::isfinite(wait) || wait < 0) {
    co_return fail("wait_error", "WaitError",
                   fmt::format("context.wait_seconds is {}, and not a number of seconds.",
                               templates::print(seconds)));
  }
  if (world_.timeline.now() + wait >= deadline_) {
    co_return fail("timeout", "StateTimeout",
                   fmt::format("The state '{}' would wait {} s, beyond its timeout.", state.name,
                               templates::print(seconds)),
                   true);
  }
  co_return co_await pause(wait);
}

// A wait outlives the process: who goes on waits for what is left of it.
ExecutionRun::Task<void> ExecutionRun::pause(double seconds) {
  const std::int64_t number = next_wait_++;
  waits_.push_back(seconds);
  const auto& known = replayed().waits;
  double left = seconds;
  if (const auto found = known.find(number); found != known.end()) {
    left = std::clamp(found->second.until - world_.timeline.unix_now(), 0.0, seconds);
  } else {
    const double until = world_.timeline.unix_now() + seconds;
    if (auto noted = co_await note("wait", wait_line(step_, number, seconds, until)); !noted) {
      co_return noted;
    }
  }
  if (left <= 0) co_return Attempt<void>();
  if (auto written = co_await flush(); !written) co_return written;
  look("wait", path_.back(), {}, left);
  if (!co_await world_.timeline.wait(left)) co_return interrupted();
  co_return check_stopping();
}

}  // namespace treaty::machines
