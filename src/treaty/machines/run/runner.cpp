#include "treaty/machines/run/runner.h"

#include <fmt/format.h>

#include "treaty/base/try.h"
#include "treaty/machines/run/execution_run.h"

namespace treaty::machines {

namespace asio = boost::asio;

namespace {

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

JournalWriter writer_of(const World& world, const Machine& machine, LeaseGuard& lease,
                        AfterWrite after_write) {
  return {world.store,           lease, machine.name, world.origin.session, events_of(machine),
          std::move(after_write)};
}

using Drive = std::function<asio::awaitable<Outcome>()>;

// Renews the lease as long as the execution runs.
asio::awaitable<Outcome> drive(const World& world, LeaseGuard& lease, Drive drive) {
  Outcome outcome;
  co_await world.timeline.alongside([&]() -> asio::awaitable<void> { outcome = co_await drive(); },
                                    [&] { return lease.keep_renewed(); });
  co_return outcome;
}

Error unreadable(const std::string& execution, std::string_view why) {
  return {.code = ErrorCode::corrupt,
          .message = fmt::format("The execution '{}' cannot be read: {}.", execution, why)};
}

// An execution as its checkpoint and its journal tell it.
struct Resumption {
  Snapshot snapshot{};
  History history{};
};

std::expected<Resumption, Error> read_resumption(const store::ExecutionRecord& record) {
  auto snapshot = read_snapshot(record.snapshot);
  if (!snapshot) return std::unexpected(unreadable(record.execution, snapshot.error()));
  const bool is_over = snapshot->event == "state_exit" || snapshot->event == "machine_error" ||
                       snapshot->event == "machine_end";
  auto history = read_history(record.journal, snapshot->step, is_over);
  if (!history) return std::unexpected(unreadable(record.execution, history.error()));
  return Resumption{.snapshot = std::move(*snapshot), .history = std::move(*history)};
}

// The newest checkpoint was reported when it was written, and may be written again.
AfterWrite after_first_write(AfterWrite after_write, const Snapshot& newest) {
  if (!after_write) return {};
  return [after_write = std::move(after_write), known = newest.event, known_step = newest.step](
             std::string_view event, std::int64_t step) {
    if (event != known || step != known_step) after_write(event, step);
  };
}

asio::awaitable<Outcome> go_on(const World& world, std::shared_ptr<const Machine> machine,
                               Start start, LeaseGuard& lease, Resumption from) {
  start.input = from.history.beginning.input;
  AfterWrite after_write = after_first_write(world.after_write, from.snapshot);
  JournalWriter writer = writer_of(world, *machine, lease, std::move(after_write));
  ExecutionRun run(world, std::move(machine), std::move(start), std::move(writer));
  co_return co_await drive(world, lease, [&]() -> asio::awaitable<Outcome> {
    return run.go_on(from.snapshot, std::move(from.history));
  });
}

// How a machine that another one has started failed. The other one did not come to note it; to it
// that was an end like any other, and is not tried again under the same name.
std::optional<Outcome> failure_kept(const World& world, const Start& start,
                                    const store::ExecutionRecord& record) {
  if (start.parent.empty() || record.latest_event != "machine_error") return std::nullopt;
  auto history = read_history(record.journal, record.latest_step, true);
  if (!history || !history->ended || history->ended->status != Status::failed) return std::nullopt;
  Outcome failed = std::move(*history->ended);
  failed.execution = start.execution;
  failed.path = std::move(history->path);
  failed.paid = tell_earlier_payments(world, history->runs);
  return failed;
}

asio::awaitable<Outcome> run_leased(const World& world, std::shared_ptr<const Machine> machine,
                                    Start start, LeaseGuard& lease, bool may_resume) {
  const std::string execution = start.execution;
  auto record = co_await world.store.find_execution(execution);
  if (!record) co_return lost_outcome(execution, std::move(record.error()));
  if (!*record) {
    JournalWriter writer = writer_of(world, *machine, lease, world.after_write);
    ExecutionRun run(world, std::move(machine), std::move(start), std::move(writer));
    co_return co_await drive(world, lease, [&] { return run.begin(); });
  }
  if (!may_resume) {
    co_return lost_outcome(
        execution,
        {.code = ErrorCode::conflict,
         .message = fmt::format("There is an execution '{}' already. Go on with it: treaty machine "
                                "resume {}",
                                execution, execution)});
  }
  if (auto failed = failure_kept(world, start, **record)) co_return std::move(*failed);
  auto from = read_resumption(**record);
  if (!from) co_return lost_outcome(execution, std::move(from.error()));
  co_return co_await go_on(world, std::move(machine), std::move(start), lease, std::move(*from));
}

asio::awaitable<Outcome> run_kept(World world, std::shared_ptr<const Machine> machine, Start start,
                                  bool may_resume) {
  auto lease = co_await LeaseGuard::acquire(world.store, world.timeline, start.execution);
  if (!lease) co_return lost_outcome(start.execution, std::move(lease.error()));
  Outcome outcome =
      co_await run_leased(world, std::move(machine), std::move(start), *lease, may_resume);
  co_await lease->release();
  co_return outcome;
}

asio::awaitable<Outcome> run_unkept(World world, std::shared_ptr<const Machine> machine,
                                    Start start) {
  ExecutionRun run(world, std::move(machine), std::move(start), JournalWriter(world.store));
  co_return co_await run.begin();
}

Error unknown(const std::string& execution) {
  return {
      .code = ErrorCode::not_a_document,
      .message = fmt::format("There is no execution '{}'. See: treaty machine list", execution)};
}

asio::awaitable<std::expected<Outcome, Error>> resume_leased(
    const World& world, std::string execution, LeaseGuard& lease, ReadMachine read,
    std::optional<std::int64_t> max_steps) {
  TREATY_CO_TRY(const auto record, co_await world.store.find_execution(execution));
  if (!record) co_return std::unexpected(unknown(execution));
  TREATY_CO_TRY(Resumption from, read_resumption(*record));
  const Beginning& beginning = from.history.beginning;
  auto machine = read(beginning.text, beginning.directory);
  if (!machine) {
    co_return fail(ErrorCode::not_a_document, std::move(machine.error()));
  }
  Start start{.execution = std::move(execution),
              .input = {},
              .parent = beginning.parent,
              .depth = beginning.depth,
              .max_steps = max_steps};
  co_return co_await go_on(world, std::move(*machine), std::move(start), lease, std::move(from));
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
  // Looked at first, so that asking for one that is not there leaves nothing behind.
  TREATY_CO_TRY(const auto there, co_await world.store.find_execution(execution));
  if (!there) co_return std::unexpected(unknown(execution));
  TREATY_CO_TRY(LeaseGuard lease,
                co_await LeaseGuard::acquire(world.store, world.timeline, execution));
  auto outcome =
      co_await resume_leased(world, std::move(execution), lease, std::move(read), max_steps);
  co_await lease.release();
  co_return outcome;
}

}  // namespace treaty::machines
