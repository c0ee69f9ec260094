#include "treaty/machines/run/runner.h"

#include <fmt/format.h>

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

constexpr double kRenewEvery = 100;  // Seconds; a lease is for 300.

bool is_kept(const Machine& machine, const Start& start) {
  return start.is_kept && machine.persistence.enabled &&
         machine.persistence.kind != PersistenceKind::memory;
}

std::optional<std::set<std::string>> events_of(const Machine& machine) {
  if (!machine.persistence.checkpoint_on) return std::nullopt;
  std::set<std::string> events(machine.persistence.checkpoint_on->begin(),
                               machine.persistence.checkpoint_on->end());
  // Without these nobody could tell where an execution stands.
  events.insert({"machine_start", "waiting", "machine_end", "machine_error"});
  return events;
}

Outcome lost_outcome(const std::string& execution, Error trouble) {
  Outcome outcome{.status = Status::lost, .execution = execution};
  outcome.trouble = std::move(trouble);
  return outcome;
}

Notebook notebook_of(const World& world, const Machine& machine, const Start& start,
                     std::int64_t token) {
  return {world.store,
          {.execution = start.execution, .machine = machine.name, .token = token},
          events_of(machine),
          world.after_write};
}

using Drive = std::function<asio::awaitable<Outcome>()>;

// The lease is renewed as long as the execution runs. Who loses it learns so at the next write.
asio::awaitable<Outcome> drive(World world, std::string execution, std::int64_t token,
                               Drive drive) {
  Outcome outcome;
  const auto renew = [&world, &execution, token]() -> asio::awaitable<void> {
    while (co_await world.timeline.wait(kRenewEvery)) {
      if (auto renewed = co_await world.store.renew(execution, token); !renewed) co_return;
    }
  };
  co_await world.timeline.alongside([&]() -> asio::awaitable<void> { outcome = co_await drive(); },
                                    renew);
  co_return outcome;
}

std::expected<History, Error> history_of(const store::ExecutionRecord& record,
                                         const Snapshot& snapshot) {
  const bool is_over = snapshot.event == "state_exit" || snapshot.event == "machine_error" ||
                       snapshot.event == "machine_end";
  auto history = read_history(record.journal, snapshot.step, is_over);
  if (!history) {
    return std::unexpected(Error{.code = ErrorCode::corrupt,
                                 .message = fmt::format("The execution '{}' cannot be read: {}.",
                                                        record.execution, history.error())});
  }
  return std::move(*history);
}

std::expected<Snapshot, Error> snapshot_of(const store::ExecutionRecord& record) {
  auto snapshot = read_snapshot(record.snapshot);
  if (snapshot) return std::move(*snapshot);
  return std::unexpected(Error{.code = ErrorCode::corrupt,
                               .message = fmt::format("The execution '{}' cannot be read: {}.",
                                                      record.execution, snapshot.error())});
}

// What stands in the newest checkpoint was told when it was written, and may be written again.
AfterWrite after_first_write(AfterWrite after_write, const Snapshot& newest) {
  if (!after_write) return {};
  return [after_write = std::move(after_write), known = newest.event, known_step = newest.step](
             std::string_view event, std::int64_t step) {
    if (event != known || step != known_step) after_write(event, step);
  };
}

asio::awaitable<Outcome> go_on(World world, std::shared_ptr<const Machine> machine, Start start,
                               std::int64_t token, const store::ExecutionRecord& record) {
  auto snapshot = snapshot_of(record);
  if (!snapshot) co_return lost_outcome(start.execution, std::move(snapshot.error()));
  auto history = history_of(record, *snapshot);
  if (!history) co_return lost_outcome(start.execution, std::move(history.error()));
  start.input = history->beginning.input;
  World own = world;
  own.after_write = after_first_write(world.after_write, *snapshot);
  Notebook notebook = notebook_of(own, *machine, start, token);
  ExecutionRun run(world, machine, start, std::move(notebook));
  co_return co_await drive(world, start.execution, token, [&]() -> asio::awaitable<Outcome> {
    return run.go_on(*snapshot, std::move(*history));
  });
}

// How a machine that another one has started failed. The other one did not come to note it; to it
// that was an end like any other, and is not tried again under the same name.
std::optional<Outcome> failure_kept(const Start& start, const store::ExecutionRecord& record) {
  if (start.parent.empty() || record.latest_event != "machine_error") return std::nullopt;
  auto history = read_history(record.journal, record.latest_step, true);
  if (!history || !history->ended || history->ended->status != Status::failed) return std::nullopt;
  Outcome failed = std::move(*history->ended);
  failed.execution = start.execution;
  failed.path = std::move(history->path);
  return failed;
}

asio::awaitable<Outcome> run_kept(World world, std::shared_ptr<const Machine> machine, Start start,
                                  bool may_resume) {
  const auto lease = co_await world.store.acquire(start.execution);
  if (!lease) co_return lost_outcome(start.execution, lease.error());
  auto record = co_await world.store.find_execution(start.execution);
  if (!record) co_return lost_outcome(start.execution, std::move(record.error()));
  if (*record && may_resume) {
    if (auto failed = failure_kept(start, **record)) {
      (void)co_await world.store.release(start.execution, lease->token);
      co_return std::move(*failed);
    }
    co_return co_await go_on(world, machine, start, lease->token, **record);
  }
  if (*record) {
    (void)co_await world.store.release(start.execution, lease->token);
    co_return lost_outcome(
        start.execution,
        {.code = ErrorCode::conflict,
         .message = fmt::format("There is an execution '{}' already. Go on with it: treaty machine "
                                "resume {}",
                                start.execution, start.execution)});
  }
  Notebook notebook = notebook_of(world, *machine, start, lease->token);
  ExecutionRun run(world, machine, start, std::move(notebook));
  co_return co_await drive(world, start.execution, lease->token,
                           [&]() -> asio::awaitable<Outcome> { return run.begin(); });
}

asio::awaitable<Outcome> run_unkept(World world, std::shared_ptr<const Machine> machine,
                                    Start start) {
  ExecutionRun run(world, std::move(machine), start, Notebook(world.store, start.execution));
  co_return co_await run.begin();
}

}  // namespace

asio::awaitable<Outcome> run_machine(World world, std::shared_ptr<const Machine> machine,
                                     Start start) {
  if (!is_kept(*machine, start)) return run_unkept(std::move(world), std::move(machine), start);
  return run_kept(std::move(world), std::move(machine), std::move(start), false);
}

asio::awaitable<Outcome> run_or_resume(World world, std::shared_ptr<const Machine> machine,
                                       Start start) {
  if (!is_kept(*machine, start)) return run_unkept(std::move(world), std::move(machine), start);
  return run_kept(std::move(world), std::move(machine), std::move(start), true);
}

asio::awaitable<std::expected<Outcome, Error>> resume_execution(
    World world, std::string execution, ReadMachine read, std::optional<std::int64_t> max_steps) {
  const auto unknown = [&] {
    return Error{
        .code = ErrorCode::not_a_document,
        .message = fmt::format("There is no execution '{}'. See: treaty machine list", execution)};
  };
  // Looked at first, so that asking for one that is not there leaves nothing behind.
  auto there = co_await world.store.find_execution(execution);
  if (!there) co_return std::unexpected(std::move(there.error()));
  if (!*there) co_return std::unexpected(unknown());
  const auto lease = co_await world.store.acquire(execution);
  if (!lease) co_return std::unexpected(lease.error());
  auto record = co_await world.store.find_execution(execution);
  if (!record) co_return std::unexpected(std::move(record.error()));
  if (!*record) co_return std::unexpected(unknown());
  auto snapshot = snapshot_of(**record);
  if (!snapshot) co_return std::unexpected(std::move(snapshot.error()));
  auto history = history_of(**record, *snapshot);
  if (!history) co_return std::unexpected(std::move(history.error()));
  auto machine = read(history->beginning.text, history->beginning.directory);
  if (!machine) {
    (void)co_await world.store.release(execution, lease->token);
    co_return std::unexpected(
        Error{.code = ErrorCode::not_a_document, .message = std::move(machine.error())});
  }
  Start start{.execution = execution,
              .input = {},
              .parent = history->beginning.parent,
              .depth = history->beginning.depth,
              .max_steps = max_steps};
  co_return co_await go_on(world, std::move(*machine), std::move(start), lease->token, **record);
}

}  // namespace treaty::machines
