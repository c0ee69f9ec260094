#include "treaty/store/sqlite/machines/sqlite_machines.h"

#include <algorithm>

#include "treaty/store/sqlite/machines/executions.h"
#include "treaty/store/sqlite/machines/signals.h"
#include "treaty/store/sqlite/machines/work.h"

namespace treaty::store::sqlite {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kPrunedAtOnce = 50;  // In one transaction: others want to write too.

}  // namespace

SqliteMachines::SqliteMachines(Writer* writer, Readers& readers, std::function<Milliseconds()> now)
    : writer_(writer), readers_(readers), now_(std::move(now)), owner_(new_owner()) {}

template <class T, class Query>
Task<T> SqliteMachines::query(Query query) {
  return submit<T>(readers_, [query = std::move(query)](Database& database) {
    return std::expected<T, Error>(query(database));
  });
}

template <class T, class Work>
Task<T> SqliteMachines::change(Work work) {
  if (writer_ == nullptr) {
    co_return std::unexpected(
        Error{.code = ErrorCode::unavailable, .message = "the store was opened only to be read"});
  }
  co_return co_await submit<T>(*writer_, std::move(work));
}

Task<Lease> SqliteMachines::acquire(std::string execution) {
  return change<Lease>([this, execution = std::move(execution)](
                           const Transaction& transaction) -> std::expected<Lease, Error> {
    if (auto ok = check_execution_id(execution); !ok) return std::unexpected(ok.error());
    return sqlite::acquire(transaction, execution, owner_);
  });
}

Task<void> SqliteMachines::renew(std::string execution, std::int64_t token) {
  return change<void>(
      [this, execution = std::move(execution), token](const Transaction& transaction) {
        return sqlite::renew(transaction, execution, owner_, token);
      });
}

Task<void> SqliteMachines::release(std::string execution, std::int64_t token) {
  return change<void>(
      [this, execution = std::move(execution), token](const Transaction& transaction) {
        return sqlite::release(transaction, execution, owner_, token);
      });
}

Task<void> SqliteMachines::write(MachineWrite write) {
  return change<void>([this, write = std::move(write)](const Transaction& transaction) {
    auto ok = check_write(write);
    if (ok) ok = check_token(transaction.database, write, owner_);
    if (ok) apply(transaction, write);
    return ok;
  });
}

Task<std::optional<std::string>> SqliteMachines::take_signal(std::string channel, Taken taken,
                                                             MachineWrite waiting) {
  using Data = std::optional<std::string>;
  return change<Data>(
      [this, channel = std::move(channel), taken = std::move(taken),
       waiting = std::move(waiting)](const Transaction& transaction) -> std::expected<Data, Error> {
        if (auto ok = check_write(waiting); !ok) return std::unexpected(ok.error());
        return sqlite::take_signal(transaction, channel, taken, waiting, owner_);
      });
}

Task<Texts> SqliteMachines::send_signal(std::string channel, std::string data) {
  return change<Texts>([channel = std::move(channel), data = std::move(data)](
                           const Transaction& transaction) -> std::expected<Texts, Error> {
    return sqlite::send_signal(transaction, channel, data);
  });
}

Task<std::optional<ExecutionRecord>> SqliteMachines::find_execution(std::string execution) {
  return query<std::optional<ExecutionRecord>>(
      [execution = std::move(execution)](Database& database) {
        return sqlite::find_execution(database, execution);
      });
}

Task<std::vector<ExecutionRow>> SqliteMachines::list_executions() {
  return query<std::vector<ExecutionRow>>(
      [this](Database& database) { return sqlite::list_executions(database, now_()); });
}

Task<Texts> SqliteMachines::prune_executions(PruneQuery query) {
  const auto rows = co_await list_executions();
  if (!rows) co_return std::unexpected(rows.error());
  const std::vector<ExecutionRow> chosen = executions_to_prune(*rows, query);
  Texts pruned;
  if (query.only_count) {
    for (const ExecutionRow& row : chosen) pruned.push_back(row.execution);
    co_return pruned;
  }
  for (auto next = chosen.begin(); next != chosen.end();) {
    const auto end = next + std::min<std::ptrdiff_t>(kPrunedAtOnce, chosen.end() - next);
    std::vector<ExecutionRow> some(next, end);
    next = end;
    auto deleted = co_await change<Texts>(
        [some = std::move(some)](const Transaction& transaction) -> std::expected<Texts, Error> {
          return delete_executions(transaction, some);
        });
    if (!deleted) co_return std::unexpected(deleted.error());
    std::ranges::move(*deleted, std::back_inserter(pruned));
  }
  co_return pruned;
}

Task<Texts> SqliteMachines::push_work(std::string pool, Texts items, int max_retries) {
  return change<Texts>([pool = std::move(pool), items = std::move(items), max_retries](
                           const Transaction& transaction) -> std::expected<Texts, Error> {
    return sqlite::push_work(transaction, pool, items, max_retries);
  });
}

Task<std::optional<WorkItem>> SqliteMachines::claim_work(std::string pool, std::string worker) {
  using Item = std::optional<WorkItem>;
  return change<Item>([pool = std::move(pool), worker = std::move(worker)](
                          const Transaction& transaction) -> std::expected<Item, Error> {
    return sqlite::claim_work(transaction, pool, worker);
  });
}

Task<void> SqliteMachines::complete_work(std::string pool, std::string item, std::string worker,
                                         std::string result) {
  WorkPlace place{std::move(pool), std::move(item), std::move(worker)};
  return change<void>(
      [place = std::move(place), result = std::move(result)](const Transaction& transaction) {
        return sqlite::complete_work(transaction, place, result);
      });
}

Task<void> SqliteMachines::fail_work(std::string pool, std::string item, std::string worker,
                                     std::string error) {
  WorkPlace place{std::move(pool), std::move(item), std::move(worker)};
  return change<void>(
      [place = std::move(place), error = std::move(error)](const Transaction& transaction) {
        return sqlite::fail_work(transaction, place, error);
      });
}

Task<void> SqliteMachines::heartbeat(std::string pool, std::string worker) {
  return change<void>([pool = std::move(pool), worker = std::move(worker)](
                          const Transaction& transaction) -> std::expected<void, Error> {
    sqlite::heartbeat(transaction, pool, worker);
    return {};
  });
}

Task<std::int64_t> SqliteMachines::release_stale_work(std::string pool) {
  return change<std::int64_t>(
      [pool =
           std::move(pool)](const Transaction& transaction) -> std::expected<std::int64_t, Error> {
        return sqlite::release_stale_work(transaction, pool);
      });
}

Task<WorkCounts> SqliteMachines::count_work(std::string pool) {
  return query<WorkCounts>(
      [pool = std::move(pool)](Database& database) { return sqlite::count_work(database, pool); });
}

}  // namespace treaty::store::sqlite
