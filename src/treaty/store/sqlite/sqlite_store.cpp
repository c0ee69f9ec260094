#include "treaty/store/sqlite/sqlite_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>
#include <span>
#include <thread>

#include "treaty/base/try.h"
#include "treaty/store/sqlite/branching.h"
#include "treaty/store/sqlite/budgets.h"
#include "treaty/store/sqlite/deleting.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/sqlite/rows.h"
#include "treaty/store/sqlite/sqlite_machines.h"

namespace treaty::store {
namespace sqlite {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kHiddenAtOnce = 50;  // Sessions in one transaction: others want to write too.
constexpr std::uintmax_t kSmall = std::uintmax_t{32} << 20U;  // Bytes that are checked at once.

// --- Whether the file still is what SQLite wrote: asked after a process has ended without a
// goodbye.

constexpr int kSteps = 10'000;  // Of SQLite's machine, between two looks at the flag.

// One table at a time: while one is read, the log cannot begin anew.
constexpr std::array kChecks = {
    "PRAGMA quick_check(machine_checkpoints)",
    "PRAGMA quick_check(machine_latest)",
    "PRAGMA quick_check(machine_journal)",
    "PRAGMA quick_check(execution_leases)",
    "PRAGMA quick_check(signals)",
    "PRAGMA quick_check(work_pool)",
    "PRAGMA quick_check(sessions)",
    "PRAGMA quick_check(hidden_sessions)",
    "PRAGMA quick_check(contexts)",
    "PRAGMA quick_check(turns)",
    "PRAGMA quick_check(names)",
    "PRAGMA quick_check(requests)",
    "PRAGMA quick_check(answers)",
    "PRAGMA quick_check(spending)",
    "PRAGMA quick_check(reservations)",
    "PRAGMA quick_check(shares)",
    "PRAGMA quick_check(pools)",
};

int is_stopped(void* stop) { return static_cast<const std::atomic<bool>*>(stop)->load() ? 1 : 0; }

// The first thing that is wrong with the file, or nothing. Reads all of it: some 0.3 s a GB when it
// is in memory. Ends early when `stop` becomes true.
std::optional<Error> find_damage(Database& database, const std::string& path,
                                 const std::atomic<bool>& stop) {
  sqlite3_progress_handler(database.handle(), kSteps, is_stopped,
                           const_cast<std::atomic<bool>*>(&stop));
  std::string damage;
  for (const char* check : kChecks) {
    Statement statement(database, check);
    if (!statement.next()) break;
    if (std::string line = statement.text(); line != "ok") {
      damage = std::move(line);
      break;
    }
  }
  sqlite3_progress_handler(database.handle(), 0, nullptr, nullptr);
  const auto failure = database.take_failure();
  if (stop) return std::nullopt;
  if (failure) return error_of(*failure, path);
  if (damage.empty()) return std::nullopt;
  return error_of({.code = SQLITE_CORRUPT, .message = damage}, path);
}

// The same on a thread of its own, for files that take long.
class BackgroundCheck {
 public:
  BackgroundCheck(std::string path, std::function<void(const Error&)> on_damage)
      : thread_([this, path = std::move(path), report = std::move(on_damage)] {
          auto database = Database::open(path, Access::read);
          if (!database) return report(error_of(database.error(), path));
          if (const auto error = find_damage(*database, path, stop_)) report(*error);
        }) {}
  ~BackgroundCheck() {
    stop_ = true;
    thread_.join();
  }
  BackgroundCheck(const BackgroundCheck&) = delete;
  BackgroundCheck& operator=(const BackgroundCheck&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// --- Queries of a session

// The query finds nothing while the session is deleted or copied: it would find a part of it.
template <class T, class... Arguments>
auto in_session(T (*query)(Database&, std::int64_t session, Arguments...)) {
  return [query](Database& database, std::int64_t session, const Arguments&... arguments) {
    return has_session(database, session) ? query(database, session, arguments...) : T{};
  };
}

// --- Work of many steps

template <class T>
Task<T> without_cancellation(Task<T> work) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_return co_await std::move(work);
}

// A caller that is cancelled waits for the end of the work: it is not left half done.
template <class T>
Task<T> uninterrupted(Task<T> work) {
  co_return co_await asio::co_spawn(co_await asio::this_coro::executor,
                                    without_cancellation(std::move(work)), asio::use_awaitable);
}

// How many branches this process is copying now. It is raised before the first write of a branch
// and lowered after the last one: when it is 0, no hidden session of this process will be
// completed.
using CopyCount = std::atomic<int>;

class Copying {
 public:
  explicit Copying(CopyCount& count) : count_(count) { ++count_; }
  ~Copying() { --count_; }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

 private:
  CopyCount& count_;
};

// Deletes what is left of hidden sessions to which nothing is copied any more. Ends early when
// `stop` becomes true.
Task<void> sweep(Connections& connections, const CopyCount& copies, const std::atomic<bool>& stop) {
  const auto step = [&copies](const Transaction& transaction) {
    return sweep_some(transaction, copies > 0);
  };
  while (!stop) {
    TREATY_CO_TRY(const bool is_done, co_await connections.write_step(step));
    if (is_done) break;
  }
  co_return std::expected<void, Error>();
}

// The same on a thread of its own, when the store is opened. What fails is left for
// delete_leftovers().
class BackgroundSweep {
 public:
  BackgroundSweep(Connections& connections, const CopyCount& copies)
      : thread_([this, &connections, &copies] {
          asio::io_context loop;
          asio::co_spawn(loop, sweep(connections, copies, stop_), asio::detached);
          loop.run();
        }) {}
  ~BackgroundSweep() {
    stop_ = true;
    thread_.join();
  }
  BackgroundSweep(const BackgroundSweep&) = delete;
  BackgroundSweep& operator=(const BackgroundSweep&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// --- The store

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, Opened opened, const StoreOptions& options)
      : clock_(options.clock),
        connections_(path, std::move(opened), options),
        machines_(make_machine_store(connections_, options.clock)) {}

  // On a thread of its own, since the file is large.
  void check_in_background(const std::string& path, std::function<void(const Error&)> on_damage) {
    check_.emplace(path, [this, report = std::move(on_damage)](const Error& error) {
      if (error.code == ErrorCode::corrupt) connections_.refuse_writes(error);
      if (report) report(error);
    });
  }

  void sweep_in_background() { sweep_.emplace(connections_, copies_); }

  Task<Applied> transact(Lookup lookup, ChangeFunction decide) override {
    return connections_.write(sqlite::decide, std::move(lookup), std::move(decide));
  }
  Task<void> settle(Settlement settlement) override {
    return connections_.write(sqlite::settle, std::move(settlement));
  }
  Task<void> mark_streamed(std::int64_t turn, std::string events) override {
    return connections_.write(sqlite::mark_streamed, turn, std::move(events));
  }
  Task<std::optional<Session>> find_session(Room room) override {
    return connections_.read(sqlite::find_session, std::move(room));
  }
  Task<std::string> solution_context(std::int64_t session) override {
    return connections_.browse(sqlite::solution_context, session);
  }
  Task<std::vector<Session>> list_sessions(SessionQuery query) override {
    return connections_.browse(sqlite::list_sessions, std::move(query));
  }
  Task<std::optional<TurnRecord>> find_turn(Room room, std::string turn_id) override {
    return connections_.read(sqlite::find_turn, std::move(room), std::move(turn_id));
  }
  Task<std::vector<Turn>> list_turns(std::int64_t session, std::int64_t after_number,
                                     std::size_t limit) override {
    return connections_.browse(in_session(sqlite::list_turns), session, after_number, limit);
  }
  Task<History> history(std::int64_t session, std::int64_t before_number,
                        std::size_t bytes) override {
    return connections_.read(in_session(sqlite::history), session, before_number, bytes);
  }
  Task<std::vector<EventRow>> events(std::int64_t session, std::int64_t from_number,
                                     std::size_t limit) override {
    return connections_.browse(in_session(sqlite::events), session, from_number, limit);
  }
  Task<std::vector<Abandoned>> claim_abandoned(Diary diary,
                                               std::optional<std::int64_t> turn) override {
    return connections_.write(sqlite::claim_abandoned, std::move(diary), turn);
  }
  Task<std::vector<Overdue>> overdue(Milliseconds now, std::size_t limit) override {
    return connections_.read(sqlite::overdue, now, limit);
  }
  Task<bool> delete_session(Room room) override {
    TREATY_CO_TRY(const auto session,
                  co_await connections_.write(sqlite::hide_session, std::move(room)));
    co_return session.has_value();
  }
  Task<void> delete_leftovers() override {
    TREATY_CO_TRY(const bool has_some, co_await connections_.browse(has_hidden_sessions));
    if (has_some) co_return co_await sweep(connections_, copies_, false);
    co_return std::expected<void, Error>();
  }
  Task<Session> branch(Room from, std::string turn_id, std::string into) override {
    return uninterrupted(copy_session(std::move(from), std::move(turn_id), std::move(into)));
  }
  Task<Pruned> prune(Milliseconds before, std::optional<std::string> tenant) override {
    return uninterrupted(prune_pages(before, std::move(tenant)));
  }
  Task<Pruned> prunable(Milliseconds before, std::optional<std::string> tenant) override {
    Pruned total;
    StaleQuery query{.before = before, .tenant = std::move(tenant), .now = clock_->unix_now()};
    while (true) {
      TREATY_CO_TRY(const StalePage page, co_await connections_.browse(stale_sessions, query));
      total.sessions += static_cast<std::int64_t>(page.sessions.size());
      total.turns += page.turns;
      if (!page.next) co_return total;
      query.after = *page.next;
    }
  }

  Task<Reserved> reserve(Purchase purchase) override {
    return connections_.write(sqlite::reserve, std::move(purchase));
  }
  Task<void> settle_reservation(std::int64_t id, Amount spent) override {
    return connections_.write(sqlite::settle_reservation, id, spent);
  }
  Task<std::vector<Spending>> spending(std::int64_t day) override {
    return connections_.read(sqlite::spending, day);
  }
  Task<void> save_pools(std::vector<PoolRecord> pools) override {
    return connections_.write(sqlite::save_pools, std::move(pools));
  }
  Task<std::vector<PoolRecord>> pools() override { return connections_.read(sqlite::pools); }

  MachineStore& machines() override { return *machines_; }

  Task<void> probe() override {
    return connections_.write([](const Transaction& transaction) {
      Statement(transaction.database, "UPDATE probes SET count = count + 1").run();
    });
  }

 private:
  Task<Session> copy_session(Room from, std::string turn_id, std::string into) {
    TREATY_CO_TRY(BranchSource source,
                  co_await connections_.browse(find_source, std::move(from), std::move(turn_id),
                                               std::move(into)));
    const Copying copying(copies_);
    Branch branch{.row = source.plan.session};
    auto copied = co_await copy(source, branch);
    if (copied) co_return std::move(branch.row.session);
    if (const std::int64_t half = branch.row.session.id; half != 0) {
      // What fails here is left for delete_leftovers().
      if (co_await connections_.write(give_up, half)) (void)co_await delete_hidden(half);
    }
    co_return std::unexpected(std::move(copied.error()));
  }

  Task<Pruned> prune_pages(Milliseconds before, std::optional<std::string> tenant) {
    Pruned total;
    StaleQuery query{.before = before, .tenant = std::move(tenant), .now = clock_->unix_now()};
    while (true) {
      TREATY_CO_TRY(const StalePage page, co_await connections_.browse(stale_sessions, query));
      for (std::span<const std::int64_t> rest = page.sessions; !rest.empty();) {
        const auto some = rest.first(std::min(rest.size(), kHiddenAtOnce));
        rest = rest.subspan(some.size());
        TREATY_CO_TRY(const Pruned pruned,
                      co_await connections_.write_step(
                          hide_stale, std::vector<std::int64_t>(some.begin(), some.end()), before));
        total.sessions += pruned.sessions;
        total.turns += pruned.turns;
        TREATY_CO_TRY_VOID(co_await sweep(connections_, copies_, false));
      }
      if (!page.next) break;
      query.after = *page.next;
    }
    TREATY_CO_TRY_VOID(co_await sweep(connections_, copies_, false));
    co_return total;
  }

  Task<void> copy(BranchSource& source, Branch& branch) {
    while (true) {
      TREATY_CO_TRY(BranchPart read, co_await connections_.browse(read_part, source));
      TREATY_CO_TRY(BranchPart part,
                    co_await connections_.browse(rename_part, source, std::move(read)));
      const bool is_last = part.is_last;
      source.next = part.next;
      TREATY_CO_TRY(branch, co_await connections_.write_step(write_part, branch, std::move(part)));
      if (is_last) co_return std::expected<void, Error>();
    }
  }

  Task<void> delete_hidden(std::int64_t session) {
    while (true) {
      TREATY_CO_TRY(const bool is_done, co_await connections_.write_step(delete_some, session));
      if (is_done) co_return std::expected<void, Error>();
    }
  }

  const std::shared_ptr<const Clock> clock_;
  CopyCount copies_ = 0;
  Connections connections_;
  const std::unique_ptr<MachineStore> machines_;
  std::optional<BackgroundCheck> check_{};
  std::optional<BackgroundSweep> sweep_{};
};

}  // namespace

}  // namespace sqlite

std::expected<std::unique_ptr<Store>, Error> open_sqlite_store(const std::string& path,
                                                               StoreOptions options) {
  std::error_code code;
  const std::string absolute = std::filesystem::absolute(path, code).string();
  TREATY_TRY(sqlite::Opened opened, sqlite::open_database(absolute, options.purpose));
  const bool is_suspect = opened.was_left_open;
  const std::uintmax_t size = std::filesystem::file_size(absolute, code);
  const bool has_leftovers =
      options.purpose == Purpose::run && sqlite::has_hidden_sessions(opened.database);
  if (is_suspect && size <= sqlite::kSmall) {
    if (auto damage = sqlite::find_damage(opened.database, absolute, false)) {
      return std::unexpected(*std::move(damage));
    }
  }
  auto store = std::make_unique<sqlite::SqliteStore>(absolute, std::move(opened), options);
  if (is_suspect && size > sqlite::kSmall) {
    store->check_in_background(absolute, std::move(options.on_damage));
  }
  if (has_leftovers) store->sweep_in_background();
  return store;
}

}  // namespace treaty::store
