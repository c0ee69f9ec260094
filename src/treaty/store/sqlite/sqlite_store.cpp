#include "treaty/store/sqlite/sqlite_store.h"

#include <filesystem>

#include "treaty/store/sqlite/budgets/pools.h"
#include "treaty/store/sqlite/budgets/reservations.h"
#include "treaty/store/sqlite/integrity.h"
#include "treaty/store/sqlite/journal.h"
#include "treaty/store/sqlite/machines/sqlite_machines.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/sqlite/readers.h"
#include "treaty/store/sqlite/reads.h"
#include "treaty/store/sqlite/rooms.h"
#include "treaty/store/sqlite/rows.h"
#include "treaty/store/sqlite/writer.h"

namespace treaty::store {
namespace {

using sqlite::Database;
using sqlite::Transaction;

constexpr std::size_t kReaders = 2;
constexpr std::size_t kPrunedAtOnce = 50;  // Sessions in one transaction: others want to write too.
constexpr std::uintmax_t kSmall = std::uintmax_t{32} << 20U;  // Bytes that are checked at once.

class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, sqlite::Opened opened, const StoreOptions& options)
      : owners_(std::move(opened.owners)) {
    const std::function<Milliseconds()> now = options.now ? options.now : system_now;
    if (options.purpose != Purpose::read) {
      writer_.emplace(path, std::move(opened.database), owners_ ? &*owners_ : nullptr, now);
    }
    readers_.emplace(path, kReaders);
    machines_.emplace(writer_ ? &*writer_ : nullptr, *readers_, now);
  }

  // On a thread of its own, since the file is large.
  void check_in_background(const std::string& path, std::function<void(const Error&)> on_damage) {
    check_.emplace(path, [this, report = std::move(on_damage)](const Error& error) {
      if (error.code == ErrorCode::corrupt) writer_->refuse_all(error);
      if (report) report(error);
    });
  }

  Task<Applied> transact(Lookup lookup, ChangeFunction decide) override {
    return write<Applied>(
        [lookup = std::move(lookup), decide = std::move(decide)](const Transaction& transaction) {
          return sqlite::decide(transaction, lookup, decide);
        });
  }

  Task<void> settle(Settlement settlement) override {
    return write<void>([settlement = std::move(settlement)](const Transaction& transaction) {
      return sqlite::settle(transaction, settlement);
    });
  }

  Task<void> mark_streamed(std::int64_t turn) override {
    return write<void>([turn](const Transaction& transaction) {
      return sqlite::mark_streamed(transaction, turn);
    });
  }

  Task<std::optional<Session>> find_session(Room room) override {
    return read<std::optional<Session>>([room = std::move(room)](Database& database) {
      auto row = sqlite::find_session(database, room);
      if (row) sqlite::count_last_turn(database, *row);
      return row ? std::optional(std::move(row->session)) : std::nullopt;
    });
  }

  Task<std::vector<Session>> list_sessions(SessionQuery query) override {
    return read<std::vector<Session>>([query = std::move(query)](Database& database) {
      return sqlite::sessions_before(database, query.tenant, query.before, query.limit);
    });
  }

  Task<std::optional<TurnRecord>> find_turn(Room room, std::string turn_id) override {
    return read<std::optional<TurnRecord>>(
        [room = std::move(room), turn_id = std::move(turn_id)](Database& database) {
          return sqlite::find_record(database, room, turn_id);
        });
  }

  Task<std::vector<Turn>> list_turns(std::int64_t session, std::int64_t after_number,
                                     std::size_t limit) override {
    return read<std::vector<Turn>>([=](Database& database) {
      return sqlite::list_turns(database, session, after_number, limit);
    });
  }

  Task<History> history(std::int64_t session, std::int64_t before_number,
                        std::size_t bytes) override {
    return read<History>([=](Database& database) {
      return sqlite::history(database, session, before_number, bytes);
    });
  }

  Task<std::vector<EventRow>> events(std::int64_t session, std::int64_t from_number,
                                     std::size_t limit) override {
    return read<std::vector<EventRow>>(
        [=](Database& database) { return sqlite::events(database, session, from_number, limit); });
  }

  Task<std::vector<Abandoned>> claim_abandoned(Diary diary) override {
    return write<std::vector<Abandoned>>(
        [diary = std::move(diary)](const Transaction& transaction) {
          auto claimed = sqlite::claim_abandoned(transaction, diary);
          if (claimed) sqlite::spend_abandoned(transaction.database, *transaction.owners);
          return claimed;
        });
  }

  Task<std::vector<Overdue>> overdue(Milliseconds now, std::size_t limit) override {
    return read<std::vector<Overdue>>(
        [=](Database& database) { return sqlite::overdue(database, now, limit); });
  }

  Task<bool> delete_session(Room room) override {
    return write<bool>([room = std::move(room)](const Transaction& transaction) {
      return sqlite::delete_session(transaction, room);
    });
  }

  Task<Session> branch(Room from, std::string turn_id, std::string into) override {
    return write<Session>([from = std::move(from), turn_id = std::move(turn_id),
                           into = std::move(into)](const Transaction& transaction) {
      return sqlite::branch(transaction, from, turn_id, into);
    });
  }

  Task<Pruned> prune(Milliseconds before, std::optional<std::string> tenant) override {
    const auto found = co_await stale(before, std::move(tenant));
    if (!found) co_return std::unexpected(found.error());
    Pruned total;
    for (std::size_t next = 0; next < found->size();) {
      std::vector<std::int64_t> some;
      while (next < found->size() && some.size() < kPrunedAtOnce) {
        some.push_back((*found)[next++].session);
      }
      const auto pruned =
          co_await write<Pruned>([some = std::move(some), before](const Transaction& transaction) {
            return sqlite::delete_stale(transaction, some, before);
          });
      if (!pruned) co_return std::unexpected(pruned.error());
      total.sessions += pruned->sessions;
      total.turns += pruned->turns;
    }
    co_return total;
  }

  Task<Pruned> prunable(Milliseconds before, std::optional<std::string> tenant) override {
    const auto found = co_await stale(before, std::move(tenant));
    if (!found) co_return std::unexpected(found.error());
    Pruned total;
    for (const sqlite::Stale& session : *found) {
      total.sessions += 1;
      total.turns += session.turns;
    }
    co_return total;
  }

  Task<Reserved> reserve(Purchase purchase) override {
    return write<Reserved>([purchase = std::move(purchase)](const Transaction& transaction) {
      return sqlite::reserve(transaction, purchase);
    });
  }

  Task<void> settle_reservation(std::int64_t id, Amount spent) override {
    return write<void>([id, spent](const Transaction& transaction) {
      return sqlite::settle_reservation(transaction, id, spent);
    });
  }

  Task<std::vector<Spending>> spending(std::int64_t day) override {
    return read<std::vector<Spending>>(
        [day](Database& database) { return sqlite::spending(database, day); });
  }

  Task<void> save_pools(std::vector<PoolRecord> pools) override {
    return write<void>([pools = std::move(pools)](const Transaction& transaction) {
      return sqlite::save_pools(transaction, pools);
    });
  }

  Task<std::vector<PoolRecord>> pools() override {
    return read<std::vector<PoolRecord>>(
        [](Database& database) { return sqlite::pools(database); });
  }

  MachineStore& machines() override { return *machines_; }

  Task<void> probe() override {
    return write<void>([](const Transaction& transaction) -> std::expected<void, Error> {
      sqlite::Statement(transaction.database, "UPDATE probes SET count = count + 1").run();
      return {};
    });
  }

 private:
  template <class T>
  Task<T> read(auto query) {
    return submit<T>(*readers_, [query = std::move(query)](Database& database) {
      return std::expected<T, Error>(query(database));
    });
  }

  template <class T, class Work>
  Task<T> write(Work work) {
    if (!writer_) {
      co_return std::unexpected(
          Error{.code = ErrorCode::unavailable, .message = "the store was opened only to be read"});
    }
    co_return co_await submit<T>(*writer_, std::move(work));
  }

  Task<std::vector<sqlite::Stale>> stale(Milliseconds before, std::optional<std::string> tenant) {
    return read<std::vector<sqlite::Stale>>(
        [before, tenant = std::move(tenant)](Database& database) {
          return sqlite::stale_sessions(database, before, tenant);
        });
  }

  // In this order: what is made last goes first, and the writer closes the file.
  std::optional<sqlite::Owners> owners_;
  std::optional<sqlite::Writer> writer_{};
  std::optional<sqlite::Readers> readers_{};
  std::optional<sqlite::SqliteMachines> machines_{};
  std::optional<sqlite::BackgroundCheck> check_{};
};

}  // namespace

std::expected<std::unique_ptr<Store>, Error> open_sqlite_store(const std::string& path,
                                                               StoreOptions options) {
  std::error_code code;
  const std::string absolute = std::filesystem::absolute(path, code).string();
  auto opened = sqlite::open_database(absolute, options.purpose);
  if (!opened) return std::unexpected(opened.error());
  const bool is_suspect = opened->was_left_open;
  const std::uintmax_t size = std::filesystem::file_size(absolute, code);
  if (is_suspect && size <= kSmall) {
    if (auto damage = sqlite::find_damage(opened->database, absolute, false)) {
      return std::unexpected(*std::move(damage));
    }
  }
  auto store = std::make_unique<SqliteStore>(absolute, std::move(*opened), options);
  if (is_suspect && size > kSmall) {
    store->check_in_background(absolute, std::move(options.on_damage));
  }
  return store;
}

}  // namespace treaty::store
