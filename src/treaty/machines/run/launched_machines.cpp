#include "treaty/machines/run/launched_machines.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/try.h"
#include "treaty/machines/run/child_machines.h"
#include "treaty/machines/run/runner.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

void forget_launched(List& launches, const std::string& execution) {
  const auto found = std::ranges::find_if(launches, [&](const Dynamic& one) {
    return one.is_object() && text_of(one.get_object(), "execution_id") == execution;
  });
  if (found != launches.end()) launches.erase(found);
}

// Starts the machine, or resumes what an earlier runner started. Returns the calls that are known
// at once: those of a simulation.
asio::awaitable<std::int64_t> start_launched(ExecutionContext& run, const Object& intent,
                                             std::shared_ptr<const Machine> machine) {
  const auto input = intent.find("input");
  Start start{.execution = text_of(intent, "execution_id"),
              .input = input == intent.end() || !input->value().is_object()
                           ? Object()
                           : input->value().get_object(),
              .parent = run.start.execution,
              .depth = run.start.depth + 1,
              .max_steps = {},
              .is_kept = run.writer.is_kept()};
  World world = run.world;
  world.offered_tools.reset();  // Whoever has them may be gone before they are needed.
  world.is_stopping = world.is_ending;
  const auto counted = std::make_shared<std::int64_t>(0);
  co_await run.world.timeline.beside([world = std::move(world), machine = std::move(machine),
                                      start = std::move(start), counted,
                                      launches = run.launches]() -> asio::awaitable<void> {
    const Outcome outcome = co_await run_or_resume(world, machine, start);
    *counted = outcome.calls;
    const bool has_ended = outcome.status == Status::completed || outcome.status == Status::failed;
    if (has_ended) forget_launched(*launches, start.execution);
  });
  co_return *counted;
}

}  // namespace

RunTask<void> launch_machines(ExecutionContext& run, const State& state) {
  TREATY_CO_TRY(const Object input, render_object(state.launch_input, run.scope()));
  std::vector<Object> intents;
  for (const std::string& name : state.launch) {
    if (run.start.depth + 1 > run.machine->settings.max_depth) {
      co_return fail("max_depth", "MaxDepthExceeded",
                     fmt::format("'{}' would be launched too deep.", name));
    }
    intents.push_back({{"execution_id", fmt::format("{}.{}.launch{}", run.start.execution, run.step,
                                                    intents.size())},
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
    const bool has_begun = intent != nullptr && intent->contains("launched") &&
                           templates::is_true(intent->at("launched"));
    if (!has_begun) continue;  // Its state runs again.
    const auto machine = machine_named(run, text_of(*intent, "machine"));
    if (machine) (void)co_await start_launched(run, *intent, *machine);
  }
}

}  // namespace treaty::machines
