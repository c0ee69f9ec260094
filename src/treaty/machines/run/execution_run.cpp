#include "treaty/machines/run/execution_run.h"

#include <fmt/format.h>

#include "treaty/base/try.h"
#include "treaty/machines/run/child_machines.h"
#include "treaty/machines/run/state_steps.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

constexpr std::int64_t kStepsAtOnce = 32;

}  // namespace

asio::awaitable<Outcome> ExecutionRun::begin() {
  const Beginning beginning{.text = run_.machine->text,
                            .directory = run_.machine->directory,
                            .input = run_.start.input,
                            .parent = run_.start.parent,
                            .depth = run_.start.depth};
  run_.writer.gather(line_of(beginning));
  note_process();
  co_return co_await start();
}

void ExecutionRun::note_process() {
  const World& world = run_.world;
  if (!world.process.empty()) run_.writer.gather(run_line(world.process, world.origin.round));
}

asio::awaitable<Outcome> ExecutionRun::start() {
  Attempt<void> ready = render_context();
  if (ready) ready = co_await run_.checkpoint("machine_start", "start");
  if (ready && run_.start.on_begun) ready = co_await run_.flush();
  if (ready && run_.start.on_begun) run_.start.on_begun();
  if (ready) ready = co_await hooks_.call(run_.machine->lifecycle_hooks, "machine_start", {});
  if (!ready) co_return co_await fail_with(std::move(ready.error()), nullptr);
  co_return co_await live(&run_.machine->states[run_.machine->initial], Point::enter);
}

asio::awaitable<Outcome> ExecutionRun::go_on(const Snapshot& snapshot, History history) {
  run_.context = snapshot.context;
  run_.step = snapshot.step;
  run_.spent = {.api_calls = snapshot.api_calls, .cost = snapshot.cost};
  run_.path = std::move(history.path);
  run_.calls = history.calls;
  run_.waits = std::move(history.waits);
  run_.replay = std::move(history.steps);
  if (run_.start.on_begun) run_.start.on_begun();
  run_.paid = tell_earlier_payments(run_.world, history.runs);
  note_process();
  co_await resume_launched(run_, snapshot.launches);
  if (snapshot.event == "machine_end") {
    if (history.ended && history.ended->status == Status::completed) {
      Outcome done = outcome(Status::completed);
      done.output = history.ended->output;
      (void)co_await run_.writer.release();
      co_return done;
    }
    co_return co_await call_end_hooks(snapshot.output);
  }
  if (snapshot.event == "machine_start") {
    Attempt<void> told = co_await hooks_.call(run_.machine->lifecycle_hooks, "machine_start", {});
    if (!told) co_return co_await fail_with(std::move(told.error()), nullptr);
    co_return co_await live(&run_.machine->states[run_.machine->initial], Point::enter);
  }
  if (snapshot.event == "machine_error" && run_.step == 0) {  // It failed before its first state.
    run_.context = Object();
    co_return co_await start();
  }
  const State* state = run_.machine->find(snapshot.state);
  if (state == nullptr) {
    auto gone = fail("unknown_state", "UnknownStateError",
                     fmt::format("The execution stands in '{}', which the machine does not have.",
                                 snapshot.state));
    gone.error().way = RunFailure::Way::unrouted;
    co_return co_await fail_with(std::move(gone.error()), nullptr);
  }
  if (snapshot.event == "machine_error") co_return co_await live(state, Point::enter);
  if (snapshot.event == "state_enter") co_return co_await live(state, Point::entered);
  if (snapshot.event == "state_exit") co_return co_await live(state, Point::exited);
  if (const auto* kept = snapshot.tool_loop.if_object()) restore_tool_loop(*kept);
  co_return co_await live(state, Point::execute);
}

asio::awaitable<Outcome> ExecutionRun::live(const State* state, Point point) {
  for (;;) {
    Attempt<NextStep> next = co_await run_state(*state, point);
    if (!next) next = co_await route_failure(run_, hooks_, *state, std::move(next.error()));
    if (!next) co_return co_await fail_with(std::move(next.error()), state);
    if (auto* done = std::get_if<MachineEnd>(&*next)) {
      co_return co_await end(std::move(done->output));
    }
    if (auto* waiting = std::get_if<Waiting>(&*next)) {
      co_return co_await wait_for(std::move(waiting->channel));
    }
    state = run_.machine->find(std::get<NextState>(*next).name);
    point = Point::enter;
  }
}

// Section 4, 1 to 6.
RunTask<NextStep> ExecutionRun::run_state(const State& state, Point from) {
  run_.deadline = state.timeout ? run_.world.timeline.now() + *state.timeout : kNever;
  if (from == Point::enter) {
    TREATY_CO_TRY_VOID(co_await enter(state));
  } else {
    run_.set_metadata(state.name);
    run_.next_call = run_.tool_loop ? run_.tool_loop->calls : 0;
    run_.next_wait = run_.tool_loop ? run_.tool_loop->waits : 0;
  }
  if (from <= Point::entered) {
    if (!state.hooks.empty()) {
      TREATY_CO_TRY_VOID(co_await hooks_.call(state.hooks, "state_enter", {{"state", state.name}}));
    }
    TREATY_CO_TRY_VOID(co_await run_.checkpoint("execute", state.name));
  }
  if (from == Point::exited) {
    const auto& exit = run_.replayed().exit;
    co_return co_await leave(run_, hooks_, state, exit ? *exit : StateExit());
  }
  TREATY_CO_TRY_VOID(co_await run_.flush());
  TREATY_CO_TRY(WorkOrWaiting work, co_await perform(run_, hooks_, state));
  if (auto* waiting = std::get_if<Waiting>(&work)) co_return std::move(*waiting);
  TREATY_CO_TRY(const StateExit exit,
                co_await conclude(run_, hooks_, state, std::move(std::get<StateWork>(work))));
  co_return co_await leave(run_, hooks_, state, exit);
}

RunTask<void> ExecutionRun::enter(const State& state) {
  const std::int64_t most = run_.start.max_steps.value_or(run_.machine->settings.max_steps);
  if (run_.step >= most) {
    auto enough = fail("max_steps", "MaxStepsExceeded",
                       fmt::format("The machine has made {} steps, which is its limit.", most));
    enough.error().way = RunFailure::Way::unrouted;
    co_return enough;
  }
  // A machine whose states reach nothing outside lets others run, too: whoever stops it, or turns.
  const bool shall_yield = run_.step % kStepsAtOnce == kStepsAtOnce - 1;
  if (shall_yield && !co_await run_.world.timeline.wait(0)) {
    co_return interrupted();
  }
  ++run_.step;
  run_.next_call = run_.next_wait = 0;
  run_.tool_loop.reset();
  run_.path.push_back(state.name);
  run_.set_metadata(state.name);
  run_.observe("state", state.name);
  if (run_.writer.is_kept()) run_.writer.gather(entered_line(run_.step, state.name));
  co_return co_await run_.checkpoint("state_enter", state.name);
}

Attempt<void> ExecutionRun::render_context() {
  for (const auto& [name, source] : run_.machine->context) {
    TREATY_TRY(Dynamic value, render(source, {.context = &run_.context, .input = &run_.input}));
    if (name == "machine") continue;  // The runner's.
    run_.members()[name] = std::move(value);
  }
  run_.set_metadata("start");
  return {};
}

void ExecutionRun::restore_tool_loop(const Object& kept) {
  const ToolLoopState& loop = run_.tool_loop.emplace(read_tool_loop_state(kept));
  run_.calls += loop.calls;
  for (const auto& [number, waited] : run_.replayed().waits) {
    if (number < loop.waits) run_.waits.push_back(waited.seconds);
  }
}

// Section 4, 7.
asio::awaitable<Outcome> ExecutionRun::end(Dynamic output) {
  Attempt<void> kept = co_await run_.checkpoint("machine_end", "end", output);
  if (!kept) co_return co_await fail_with(std::move(kept.error()), nullptr);
  co_return co_await call_end_hooks(std::move(output));
}

asio::awaitable<Outcome> ExecutionRun::call_end_hooks(Dynamic output) {
  const auto replace = [&](const HookReply& reply, Object& next) -> Attempt<bool> {
    const Dynamic found = value_in(reply, "output");
    if (found.is_null()) return false;
    if (!found.is_object()) {
      return hook_failure("on_machine_end answered an output that is no object.");
    }
    output = found;
    next["output"] = output;
    return false;
  };
  Attempt<void> told = co_await hooks_.call(run_.machine->lifecycle_hooks, "machine_end",
                                            {{"output", output}}, replace);
  if (!told && told.error().way != RunFailure::Way::routed) {
    co_return co_await stop_with(std::move(told.error()));
  }
  // A hook that fails here fails the machine, whose work is done all the same: whoever goes on only
  // asks the hook again.
  Outcome done = outcome(told ? Status::completed : Status::failed);
  if (told) done.output = std::move(output);
  if (!told) done.error = std::move(told.error().error);
  run_.writer.gather(ended_line(done));
  Attempt<void> released = co_await run_.release();
  if (!released) co_return co_await stop_with(std::move(released.error()));
  run_.observe("end", "end", name_of(done.status));
  co_return done;
}

asio::awaitable<Outcome> ExecutionRun::fail_with(RunFailure failure, const State* state) {
  if (failure.way == RunFailure::Way::lost || failure.way == RunFailure::Way::interrupted) {
    co_return co_await stop_with(std::move(failure));
  }
  Outcome failed = outcome(Status::failed);
  failed.error = std::move(failure.error);
  if (state != nullptr) failed.error["state"] = state->name;
  run_.observe("error", state == nullptr ? "" : state->name, sentence_of(failed.error), 0,
               text_of(failed.error, "code"));
  run_.writer.gather(ended_line(failed));
  Attempt<void> kept =
      co_await run_.checkpoint("machine_error", state == nullptr ? "start" : state->name);
  if (!kept) co_return co_await stop_with(std::move(kept.error()));
  Attempt<void> released = co_await run_.release();
  if (!released) co_return co_await stop_with(std::move(released.error()));
  co_return failed;
}

// Whoever resumes it continues from what is on the disk.
asio::awaitable<Outcome> ExecutionRun::stop_with(RunFailure failure) {
  const bool is_lost = failure.way == RunFailure::Way::lost;
  Outcome stopped = outcome(is_lost ? Status::lost : Status::interrupted);
  stopped.trouble = std::move(failure.trouble);
  // A store that fails now may take the release all the same, for whoever tries again.
  const bool may_release = !is_lost || stopped.trouble.code == ErrorCode::unavailable;
  if (may_release) (void)co_await run_.writer.release();
  co_return stopped;
}

asio::awaitable<Outcome> ExecutionRun::wait_for(std::string channel) {
  Outcome waiting = outcome(Status::waiting);
  waiting.channel = std::move(channel);
  waiting.tool_calls = std::move(run_.waiting_tools);
  Attempt<void> released = co_await run_.release();
  if (!released) co_return co_await stop_with(std::move(released.error()));
  run_.observe("waiting", run_.path.empty() ? "" : run_.path.back(), waiting.channel);
  co_return waiting;
}

Outcome ExecutionRun::outcome(Status status) const {
  Outcome outcome{.status = status, .execution = run_.start.execution};
  outcome.path = run_.path;
  outcome.calls = run_.calls;
  outcome.waits = run_.waits;
  outcome.paid = run_.paid;
  return outcome;
}

}  // namespace treaty::machines
