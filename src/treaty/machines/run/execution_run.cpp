#include "treaty/machines/run/execution_run.h"

#include <fmt/format.h>

namespace treaty::machines {

namespace asio = boost::asio;

ExecutionRun::ExecutionRun(const World& world, std::shared_ptr<const Machine> machine, Start start,
                           Notebook notebook)
    : world_(world),
      machine_(std::move(machine)),
      start_(std::move(start)),
      notebook_(std::move(notebook)),
      input_(start_.input) {
  if (!world_.is_ending) world_.is_ending = world_.is_stopping;
}

asio::awaitable<Outcome> ExecutionRun::begin() {
  // Section 4, 0.
  const Beginning beginning{.text = machine_->text,
                            .directory = machine_->directory,
                            .input = start_.input,
                            .parent = start_.parent,
                            .depth = start_.depth};
  notebook_.gather(line_of(beginning));
  co_return co_await start();
}

asio::awaitable<Outcome> ExecutionRun::start() {
  Attempt<void> ready = co_await render_context();
  if (ready) ready = co_await checkpoint("machine_start", "start");
  if (ready) ready = co_await tell(machine_->lifecycle_hooks, "machine_start", {});
  if (!ready) co_return co_await fail_with(std::move(ready.error()), nullptr);
  co_return co_await live(&machine_->states[machine_->initial], Point::enter);
}

// Section 9: where an execution goes on says its newest checkpoint.
asio::awaitable<Outcome> ExecutionRun::go_on(const Snapshot& snapshot, History history) {
  context_ = snapshot.context;
  step_ = snapshot.step;
  spent_ = {.api_calls = snapshot.api_calls, .cost = snapshot.cost};
  path_ = std::move(history.path);
  calls_ = history.calls;
  waits_ = std::move(history.waits);
  replay_ = std::move(history.steps);
  co_await go_on_with_launched(snapshot.launches);
  if (snapshot.event == "machine_end") {
    if (history.ended && history.ended->status == Status::completed) {
      Outcome done = outcome(Status::completed);
      done.output = history.ended->output;
      (void)co_await notebook_.release();
      co_return done;
    }
    co_return co_await tell_end(snapshot.output);
  }
  if (snapshot.event == "machine_start") {
    Attempt<void> told = co_await tell(machine_->lifecycle_hooks, "machine_start", {});
    if (!told) co_return co_await fail_with(std::move(told.error()), nullptr);
    co_return co_await live(&machine_->states[machine_->initial], Point::enter);
  }
  if (snapshot.event == "machine_error" && step_ == 0) {  // It failed before its first state.
    context_ = Object();
    co_return co_await start();
  }
  const State* state = machine_->find(snapshot.state);
  if (state == nullptr) {
    auto gone = fail("unknown_state", "UnknownStateError",
                     fmt::format("The execution stands in '{}', which the machine does not have.",
                                 snapshot.state));
    gone.error().way = Failure::Way::unrouted;
    co_return co_await fail_with(std::move(gone.error()), nullptr);
  }
  if (snapshot.event == "machine_error") co_return co_await live(state, Point::enter);
  if (snapshot.event == "state_enter") co_return co_await live(state, Point::entered);
  if (snapshot.event == "state_exit") co_return co_await live(state, Point::exited);
  if (const auto* kept = snapshot.tool_loop.if_object()) restore_loop(*kept);
  co_return co_await live(state, Point::execute);
}

asio::awaitable<Outcome> ExecutionRun::live(const State* state, Point point) {
  for (;;) {
    Attempt<Onward> onward = co_await visit(*state, point);
    if (!onward) onward = co_await route_failure(*state, std::move(onward.error()));
    if (!onward) co_return co_await fail_with(std::move(onward.error()), state);
    if (auto* done = std::get_if<End>(&*onward)) co_return co_await end(std::move(done->output));
    if (auto* stands = std::get_if<Waiting>(&*onward)) {
      co_return co_await stand(std::move(stands->channel));
    }
    state = machine_->find(std::get<To>(*onward).state);
    point = Point::enter;
  }
}

// Section 4, 1 to 6.
ExecutionRun::Task<ExecutionRun::Onward> ExecutionRun::visit(const State& state, Point from) {
  if (from == Point::enter) {
    if (auto entered = co_await enter(state); !entered) {
      co_return std::unexpected(std::move(entered.error()));
    }
  } else {
    set_metadata(state.name);
    next_call_ = next_wait_ = 0;
    if (loop_) {
      next_call_ = loop_->calls;
      next_wait_ = loop_->waits;
    }
  }
  if (from <= Point::entered) {
    Attempt<void> ready = co_await tell(state.hooks, "state_enter", {{"state", state.name}});
    if (ready) ready = co_await checkpoint("execute", state.name);
    if (!ready) co_return std::unexpected(std::move(ready.error()));
  }
  if (from == Point::exited) {
    const auto& exit = replayed().exit;
    co_return co_await leave(state, exit ? *exit : Exit());
  }
  if (auto written = co_await flush(); !written) {
    co_return std::unexpected(std::move(written.error()));
  }
  Attempt<Worked> worked = co_await perform(state);
  if (!worked) co_return std::unexpected(std::move(worked.error()));
  if (auto* stands = std::get_if<Waiting>(&*worked)) co_return Onward(std::move(*stands));
  Attempt<Exit> exit = co_await conclude(state, std::move(std::get<Work>(*worked)));
  if (!exit) co_return std::unexpected(std::move(exit.error()));
  co_return co_await leave(state, *exit);
}

ExecutionRun::Task<void> ExecutionRun::enter(const State& state) {
  const std::int64_t most = start_.max_steps.value_or(machine_->settings.max_steps);
  if (step_ >= most) {
    auto enough = fail("max_steps", "MaxStepsExceeded",
                       fmt::format("The machine has made {} steps, which is its limit.", most));
    enough.error().way = Failure::Way::unrouted;
    co_return enough;
  }
  ++step_;
  next_call_ = next_wait_ = 0;
  loop_.reset();
  path_.push_back(state.name);
  set_metadata(state.name);
  look("state", state.name);
  if (notebook_.is_kept()) notebook_.gather(entered_line(step_, state.name));
  co_return co_await checkpoint("state_enter", state.name);
}

ExecutionRun::Task<void> ExecutionRun::render_context() {
  for (const auto& [name, source] : machine_->context) {
    auto value = render(source, {.context = &context_, .input = &input_});
    if (!value) co_return std::unexpected(std::move(value.error()));
    if (name == "machine") continue;  // The runner's.
    context_.get_object()[name] = std::move(*value);
  }
  set_metadata("start");
  co_return Attempt<void>();
}

// Section 4, 7.
asio::awaitable<Outcome> ExecutionRun::end(Value output) {
  Attempt<void> kept = co_await checkpoint("machine_end", "end", output);
  if (!kept) co_return co_await fail_with(std::move(kept.error()), nullptr);
  co_return co_await tell_end(std::move(output));
}

asio::awaitable<Outcome> ExecutionRun::tell_end(Value output) {
  const auto replace = [&](const HookReply& reply, Object& next) -> Attempt<bool> {
    const auto found = reply.find("output");
    if (found == reply.end() || found->value().is_null()) return false;
    if (!found->value().is_object()) {
      return hook_failure("on_machine_end answered an output that is no object.");
    }
    output = found->value().get_object();
    next["output"] = output;
    return false;
  };
  Attempt<void> told =
      co_await tell(machine_->lifecycle_hooks, "machine_end", {{"output", output}}, replace);
  if (!told && told.error().way != Failure::Way::routed) {
    co_return co_await stop_with(std::move(told.error()));
  }
  // A hook that fails here fails the machine, whose work is done all the same: whoever goes on only
  // asks the hook again.
  Outcome done = outcome(told ? Status::completed : Status::failed);
  if (told) done.output = std::move(output);
  if (!told) done.error = std::move(told.error().error);
  notebook_.gather(ended_line(done));
  if (auto released = co_await notebook_.release(); !released) {
    co_return co_await stop_with(lost(std::move(released.error())).error());
  }
  look("end", "end", name_of(done.status));
  co_return done;
}

asio::awaitable<Outcome> ExecutionRun::fail_with(Failure failure, const State* state) {
  if (failure.way == Failure::Way::lost || failure.way == Failure::Way::interrupted) {
    co_return co_await stop_with(std::move(failure));
  }
  Outcome failed = outcome(Status::failed);
  failed.error = std::move(failure.error);
  if (state != nullptr) failed.error["state"] = state->name;
  look("error", state == nullptr ? "" : state->name, sentence_of(failed.error), 0,
       text_of(failed.error, "code"));
  notebook_.gather(ended_line(failed));
  Attempt<void> kept =
      co_await checkpoint("machine_error", state == nullptr ? "start" : state->name);
  if (!kept) co_return co_await stop_with(std::move(kept.error()));
  if (auto released = co_await notebook_.release(); !released) {
    co_return co_await stop_with(lost(std::move(released.error())).error());
  }
  co_return failed;
}

// What is on the disk is where it goes on. A lease that is not released ends by itself.
asio::awaitable<Outcome> ExecutionRun::stop_with(Failure failure) {
  const bool is_lost = failure.way == Failure::Way::lost;
  Outcome stopped = outcome(is_lost ? Status::lost : Status::interrupted);
  stopped.trouble = std::move(failure.trouble);
  // A store that fails now may take the release all the same, for whoever tries again.
  const bool may_release = !is_lost || stopped.trouble.code == ErrorCode::unavailable;
  if (may_release) (void)co_await notebook_.release();
  co_return stopped;
}

asio::awaitable<Outcome> ExecutionRun::stand(std::string channel) {
  Outcome waiting = outcome(Status::waiting);
  waiting.channel = std::move(channel);
  waiting.tool_calls = std::move(waiting_tools_);
  if (auto released = co_await notebook_.release(); !released) {
    co_return co_await stop_with(lost(std::move(released.error())).error());
  }
  look("waiting", path_.empty() ? "" : path_.back(), waiting.channel);
  co_return waiting;
}

Outcome ExecutionRun::outcome(Status status) {
  Outcome outcome{.status = status, .execution = start_.execution};
  outcome.path = path_;
  outcome.calls = calls_;
  outcome.waits = waits_;
  return outcome;
}

}  // namespace treaty::machines
