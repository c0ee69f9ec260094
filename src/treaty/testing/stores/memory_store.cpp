#include "treaty/testing/stores/memory_store.h"

#include <type_traits>

#include "treaty/base/mutex.h"
#include "treaty/store/memory/session_machines.h"
#include "treaty/testing/stores/memory_tables.h"

namespace treaty::store {

class MemoryDisk {
 public:
  Mutex mutex{};
  MemoryTables tables TREATY_GUARDED_BY(mutex){};
};

namespace {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryOptions options)
      : clock_(std::move(options.clock)),
        disk_(options.disk ? std::move(options.disk) : make_memory_disk()),
        machines_(open_session_machines(clock_, [this](std::int64_t session) {
          return with([&](MemoryTables& tables) { return tables.is_deleted(session); });
        })) {
    owner_ = with([](MemoryTables& tables) { return tables.sign_on(); });
  }
  ~MemoryStore() override {
    with([this](MemoryTables& tables) { tables.sign_off(owner_); });
  }
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  Task<Applied> transact(Lookup lookup, ChangeFunction decide) override {
    co_return with([&](MemoryTables& tables) { return tables.transact(lookup, decide, writer()); });
  }
  Task<void> settle(Settlement settlement) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.settle(std::move(settlement), writer()); });
  }
  Task<void> mark_streamed(std::int64_t turn, std::string events) override {
    with([&](MemoryTables& tables) { tables.mark_streamed(turn, events, writer()); });
    co_return std::expected<void, Error>();
  }
  Task<std::optional<Session>> find_session(Room room) override {
    co_return with([&](MemoryTables& tables) { return tables.session(room); });
  }
  Task<std::string> solution_context(std::int64_t session) override {
    co_return with([&](MemoryTables& tables) { return tables.solution_context(session); });
  }
  Task<std::vector<Session>> list_sessions(SessionQuery query) override {
    co_return with([&](MemoryTables& tables) { return tables.list_sessions(query); });
  }
  Task<std::optional<TurnRecord>> find_turn(Room room, std::string turn_id) override {
    co_return with([&](MemoryTables& tables) { return tables.record(room, turn_id); });
  }
  Task<std::vector<Turn>> list_turns(std::int64_t session, std::int64_t after_number,
                                     std::size_t limit) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.list_turns(session, after_number, limit); });
  }
  Task<History> history(std::int64_t session, std::int64_t before_number,
                        std::size_t bytes) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.history(session, before_number, bytes); });
  }
  Task<std::vector<EventRow>> events(std::int64_t session, std::int64_t from_number,
                                     std::size_t limit) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.events(session, from_number, limit); });
  }
  Task<std::vector<Abandoned>> claim_abandoned(Diary diary,
                                               std::optional<std::int64_t> turn) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.claim_abandoned(diary, turn, writer()); });
  }
  Task<std::vector<Overdue>> overdue(Milliseconds now, std::size_t limit) override {
    co_return with([&](MemoryTables& tables) { return tables.overdue(now, limit); });
  }
  Task<bool> delete_session(Room room) override {
    co_return with([&](MemoryTables& tables) { return tables.delete_session(room); });
  }
  Task<void> delete_leftovers() override { co_return std::expected<void, Error>(); }
  Task<Session> branch(Room from, std::string turn_id, std::string into) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.branch(from, turn_id, into, writer()); });
  }
  Task<Pruned> prune(Milliseconds before, std::optional<std::string> tenant) override {
    const auto busy = machines_->running_sessions();
    co_return with([&](MemoryTables& tables) { return tables.prune(before, tenant, busy, false); });
  }
  Task<Pruned> prunable(Milliseconds before, std::optional<std::string> tenant) override {
    const auto busy = machines_->running_sessions();
    co_return with([&](MemoryTables& tables) { return tables.prune(before, tenant, busy, true); });
  }
  Task<Reserved> reserve(Purchase purchase) override {
    co_return with([&](MemoryTables& tables) { return tables.reserve(purchase, writer()); });
  }
  Task<void> settle_reservation(std::int64_t id, Amount spent) override {
    co_return with(
        [&](MemoryTables& tables) { return tables.settle_reservation(id, spent, writer()); });
  }
  Task<std::vector<Spending>> spending(std::int64_t day) override {
    co_return with([&](MemoryTables& tables) { return tables.spending(day); });
  }
  Task<void> save_pools(std::vector<PoolRecord> pools) override {
    with([&](MemoryTables& tables) { tables.save_pools(std::move(pools), clock_->unix_now()); });
    co_return std::expected<void, Error>();
  }
  Task<std::vector<PoolRecord>> pools() override {
    co_return with([](MemoryTables& tables) { return tables.pools(); });
  }
  MachineStore& machines() override { return *machines_; }
  Task<void> probe() override { co_return std::expected<void, Error>(); }

 private:
  template <class Work>
  std::invoke_result_t<Work&, MemoryTables&> with(Work work) {
    const MutexLock lock(disk_->mutex);
    return work(disk_->tables);
  }
  WriterIdentity writer() const { return {.owner = owner_, .now = clock_->unix_now()}; }

  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<MemoryDisk> disk_;
  const std::unique_ptr<MemoryMachineStore> machines_;
  std::int64_t owner_ = 0;
};

}  // namespace

std::shared_ptr<MemoryDisk> make_memory_disk() { return std::make_shared<MemoryDisk>(); }

std::unique_ptr<Store> open_memory_store(MemoryOptions options) {
  return std::make_unique<MemoryStore>(std::move(options));
}

}  // namespace treaty::store
