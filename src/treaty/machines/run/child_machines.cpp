#include "treaty/machines/run/child_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <set>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/notifier.h"
#include "treaty/base/try.h"
#include "treaty/machines/run/runner.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

struct Child {
  std::string key;  // Its name in the output.
  std::string machine;
  Object input;
};

Object told_failure(const Object& error) {
  return {{"_error", sentence_of(error)},
          {"_error_type", text_of(error, "type")},
          {"_error_code", text_of(error, "code")}};
}

Attempt<List> list_of(Dynamic value) {
  if (auto* list = value.if_array()) return std::move(*list);
  if (const auto* text = value.if_string()) {
    const std::string copy(*text);
    const json::Document document(copy);
    const auto root = document.root();
    if (root && document.faults().empty() && root->is_array()) {
      return std::move(json::to_dynamic(*root).get_array());
    }
  }
  return fail(
      "not_a_list", "ForeachError",
      fmt::format("`foreach` needs a list, and not {}.", templates::print(value).substr(0, 80)));
}

RunFailure failure_of(const Outcome& outcome) {
  if (outcome.status == Status::lost) return lost(outcome.trouble).error();
  if (outcome.status == Status::interrupted) return interrupted().error();
  Object error = outcome.error;
  if (const auto state = error.find("state"); state != error.end()) error.stable_erase(state);
  return {.error = std::move(error)};
}

bool has_ended(const Outcome& outcome) {
  return outcome.status == Status::completed || outcome.status == Status::failed;
}

Outcome failed_outcome(Object error) {
  Outcome outcome{.status = Status::failed};
  outcome.error = std::move(error);
  return outcome;
}

// The state's input, and over it the child's own.
Attempt<Object> input_of(const State& state, const ChildReference& child,
                         const templates::Scope& scope) {
  TREATY_TRY(Object input, render_object(state.input, scope));
  TREATY_TRY(const Object own, render_object(child.input, scope));
  for (const auto& member : own) input[member.key()] = member.value();
  return input;
}

Attempt<std::vector<Child>> listed_children(const ExecutionContext& run, const State& state) {
  std::vector<Child> children;
  for (const ChildReference& reference : state.machines) {
    TREATY_TRY(Object input, input_of(state, reference, run.scope()));
    children.push_back(
        {.key = reference.name, .machine = reference.name, .input = std::move(input)});
  }
  return children;
}

Attempt<std::vector<Child>> children_of_items(const ExecutionContext& run, const State& state) {
  TREATY_TRY(Dynamic rendered, render(*state.foreach, run.scope()));
  TREATY_TRY(const List items, list_of(std::move(rendered)));
  const ChildReference& reference = state.machines.front();
  std::vector<Child> children;
  std::set<std::string> keys;
  for (const Dynamic& item : items) {
    const templates::Binding bound[] = {{.name = state.item_name, .value = &item}};
    templates::Scope with_item = run.scope();
    with_item.bound = bound;
    TREATY_TRY(Object input, input_of(state, reference, with_item));
    Child child{.key = {}, .machine = reference.name, .input = std::move(input)};
    if (state.key) {
      TREATY_TRY(const Dynamic key, render(*state.key, with_item));
      child.key = templates::print(key);
      if (!keys.insert(child.key).second) {
        return fail("duplicate_key", "ForeachError",
                    fmt::format("Two items of `foreach` have the key '{}'.", child.key));
      }
    }
    children.push_back(std::move(child));
  }
  return children;
}

asio::awaitable<Outcome> run_child(const ExecutionContext& run, const World& world,
                                   const Child& child, std::string execution) {
  if (run.start.depth + 1 > run.machine->settings.max_depth) {
    co_return failed_outcome(make_error(
        "max_depth", "MaxDepthExceeded",
        fmt::format("'{}' would be machine {} within machines; the limit is {}.", child.machine,
                    run.start.depth + 1, run.machine->settings.max_depth)));
  }
  auto machine = machine_named(run, child.machine);
  if (!machine) co_return failed_outcome(std::move(machine.error().error));
  run.observe("child", run.path.back(), child.machine);
  Start start{.execution = std::move(execution),
              .input = child.input,
              .parent = run.start.execution,
              .depth = run.start.depth + 1,
              .max_steps = {},
              .is_kept = run.writer.is_kept()};
  co_return co_await run_or_resume(world, std::move(*machine), std::move(start));
}

// A child that has ended is in the journal before the others end.
RunTask<void> note_child(ExecutionContext& run, std::int64_t number, const Outcome& outcome) {
  if (!has_ended(outcome)) co_return Attempt<void>();
  run.paid.insert(run.paid.end(), outcome.paid.begin(), outcome.paid.end());
  TREATY_CO_TRY_VOID(co_await run.note("noted", child_line(run.step, number, outcome)));
  co_return co_await run.flush();
}

RunTask<std::vector<Outcome>> run_all(ExecutionContext& run, const State& state,
                                      const std::vector<Child>& children) {
  TREATY_CO_TRY_VOID(co_await run.flush());
  std::vector<Outcome> outcomes(children.size(), Outcome{.status = Status::interrupted});
  bool is_enough = false;
  Attempt<void> kept;
  World world = run.world;  // A child that is no longer wanted stops, which is not a failure.
  world.is_stopping = [&, outer = run.world.is_stopping] {
    return is_enough || run.world.timeline.now() >= run.deadline || (outer && outer());
  };
  const auto& known = run.replayed().children;
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (const auto found = known.find(static_cast<std::int64_t>(i)); found != known.end()) {
      outcomes[i] = found->second;
      is_enough = is_enough || (state.mode == Mode::any && outcomes[i].status == Status::completed);
      continue;
    }
    jobs.push_back([&, i]() -> asio::awaitable<void> {
      const std::string id = fmt::format("{}.{}.{}", run.start.execution, run.step, i);
      outcomes[i] = co_await run_child(run, world, children[i], id);
      if (state.mode == Mode::any && outcomes[i].status == Status::completed) is_enough = true;
      const Attempt<void> written =
          co_await note_child(run, static_cast<std::int64_t>(i), outcomes[i]);
      if (!written) kept = written;
    });
  }
  if (is_enough) jobs.clear();
  const bool is_in_time =
      co_await run.world.timeline.within(run.deadline, [&]() -> asio::awaitable<void> {
        co_await run.world.timeline.together(std::move(jobs), run.max_parallel(),
                                             [&] { return is_enough; });
      });
  TREATY_CO_TRY_VOID(run.check_stopping());
  TREATY_CO_TRY_VOID(kept);
  for (const Outcome& outcome : outcomes) {
    run.calls += outcome.calls;
    run.waits.insert(run.waits.end(), outcome.waits.begin(), outcome.waits.end());
  }
  if (!is_in_time) {
    co_return std::unexpected(RunFailure{.error = state_timeout(state.name)});
  }
  co_return outcomes;
}

Attempt<Dynamic> gather(const State& state, const std::vector<Child>& children,
                        const std::vector<Outcome>& outcomes) {
  const bool is_single = !state.foreach && !state.machines_are_list;
  const bool is_list = state.foreach && !state.key;
  List list;
  Object object;
  const Outcome* first_failure = nullptr;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.status == Status::lost) return std::unexpected(failure_of(outcome));
    const bool is_good = outcome.status == Status::completed;
    if (!is_good && outcome.status == Status::failed && first_failure == nullptr) {
      first_failure = &outcome;
    }
    if (is_single && !is_good) return std::unexpected(failure_of(outcome));
    if (is_single) return outcome.output;
    if (state.mode == Mode::any && !is_good) continue;
    Dynamic one = is_good ? outcome.output : told_failure(outcome.error);
    if (is_list) {
      list.push_back(std::move(one));
    } else {
      object[children[i].key] = std::move(one);
    }
    if (state.mode == Mode::any) break;
  }
  if (state.mode == Mode::any && list.empty() && object.empty() && first_failure != nullptr) {
    return std::unexpected(failure_of(*first_failure));
  }
  if (is_list) return Dynamic(std::move(list));
  return Dynamic(std::move(object));
}

void forget_launched(List& launches, const std::string& execution) {
  const auto found = std::ranges::find_if(launches, [&](const Dynamic& one) {
    return one.is_object() && text_of(one.get_object(), "execution_id") == execution;
  });
  if (found != launches.end()) launches.erase(found);
}

// Starts the machine, or resumes what an earlier runner started, and waits until its beginning is
// durable: from then on it can be resumed without this execution. Returns the calls that are known
// at once: those of a simulation.
asio::awaitable<std::int64_t> start_launched(ExecutionContext& run, const Object& intent,
                                             std::shared_ptr<const Machine> machine) {
  Start start{.execution = text_of(intent, "execution_id"),
              .input = or_empty(object_in(intent, "input")),
              .parent = run.start.execution,
              .depth = run.start.depth + 1,
              .max_steps = {},
              .is_kept = run.writer.is_kept()};
  Waiter begun(co_await asio::this_coro::executor);
  start.on_begun = [waker = begun.waker()] { waker->notify(); };
  World world = run.world;
  world.offered_tools.reset();  // Whoever has them may be gone before they are needed.
  world.is_stopping = world.is_ending;
  world.on_earlier_call = nullptr;  // Those are the calls of a run that has ended.
  const auto counted = std::make_shared<std::int64_t>(0);
  co_await run.world.timeline.beside([world = std::move(world), machine = std::move(machine), start,
                                      counted, launches = run.launches]() -> asio::awaitable<void> {
    const Outcome outcome = co_await run_or_resume(world, machine, start);
    *counted = outcome.calls;
    if (has_ended(outcome)) forget_launched(*launches, start.execution);
    start.on_begun();
  });
  if (start.is_kept) co_await begun.wait();
  co_return *counted;
}

}  // namespace

RunTask<OutputOrWaiting> run_child_machines(ExecutionContext& run, const State& state) {
  TREATY_CO_TRY(const std::vector<Child> children,
                state.foreach ? children_of_items(run, state) : listed_children(run, state));
  TREATY_CO_TRY(const std::vector<Outcome> outcomes, co_await run_all(run, state, children));
  const bool is_any_done =
      state.mode == Mode::any &&
      std::ranges::find(outcomes, Status::completed, &Outcome::status) != outcomes.end();
  const auto waiting = std::ranges::find(outcomes, Status::waiting, &Outcome::status);
  if (waiting != outcomes.end() && !is_any_done) {
    for (const Outcome& outcome : outcomes) {
      for (const Dynamic& call : outcome.tool_calls) run.waiting_tools.push_back(call);
    }
    // Without the channel of a signal, which is for the child.
    const std::string channel = waiting->tool_calls.empty() ? "" : waiting->channel;
    TREATY_CO_TRY_VOID(co_await run.checkpoint("waiting", state.name, nullptr, channel));
    co_return Waiting{waiting->channel};
  }
  TREATY_CO_TRY(Dynamic output, gather(state, children, outcomes));
  co_return OutputOrWaiting(std::move(output));
}

Attempt<std::shared_ptr<const Machine>> machine_named(const ExecutionContext& run,
                                                      const std::string& name) {
  const auto found = run.machine->machines.find(name);
  if (found == run.machine->machines.end()) {
    return fail("machine_not_found", "MachineNotFound",
                fmt::format("The machine has no machine '{}'.", name));
  }
  if (found->second.inlined) return found->second.inlined;
  auto opened = run.world.open_machine(found->second.path, run.machine->directory);
  if (!opened) return fail("machine_not_found", "MachineNotFound", opened.error());
  return *opened;
}

RunTask<void> launch_machines(ExecutionContext& run, const State& state) {
  TREATY_CO_TRY(const Object input, render_object(state.launch_input, run.scope()));
  std::vector<Object> intents;
  for (const std::string& name : state.launch) {
    if (run.start.depth + 1 > run.machine->settings.max_depth) {
      co_return fail("max_depth", "MaxDepthExceeded",
                     fmt::format("'{}' would be launched too deep.", name));
    }
    intents.push_back({{"execution_id", fmt::format("{}.{}.{}{}", run.start.execution, run.step,
                                                    kLaunchPrefix, intents.size())},
                       {"machine", name},
                       {"input", input},
                       {"launched", false}});
  }
  for (const Object& intent : intents) {
    forget_launched(*run.launches, text_of(intent, "execution_id"));
    run.launches->emplace_back(intent);
  }
  TREATY_CO_TRY_VOID(co_await run.checkpoint("execute", state.name));
  TREATY_CO_TRY_VOID(co_await run.flush());
  for (std::size_t i = 0; i < intents.size(); ++i) {
    TREATY_CO_TRY(const auto machine, machine_named(run, text_of(intents[i], "machine")));
    run.observe("launch", state.name, text_of(intents[i], "machine"));
    const std::int64_t calls = co_await start_launched(run, intents[i], machine);
    run.calls += calls;
    if (run.replayed().launched.contains(static_cast<std::int64_t>(i))) continue;
    TREATY_CO_TRY_VOID(
        co_await run.note("noted", launched_line(run.step, static_cast<std::int64_t>(i), calls)));
  }
  for (Dynamic& one : *run.launches) one.get_object()["launched"] = true;
  co_return Attempt<void>();
}

asio::awaitable<void> resume_launched(ExecutionContext& run, const List& launches) {
  *run.launches = launches;
  for (const Dynamic& one : launches) {
    const auto* intent = one.if_object();
    const bool has_begun = intent != nullptr && templates::is_true(value_in(*intent, "launched"));
    if (!has_begun) continue;  // Its state runs again.
    const auto machine = machine_named(run, text_of(*intent, "machine"));
    if (machine) (void)co_await start_launched(run, *intent, *machine);
  }
}

}  // namespace treaty::machines
