#include "treaty/store/memory/memory_machines.h"

#include <algorithm>
#include <list>
#include <map>
#include <unordered_map>

#include "treaty/base/ids.h"
#include "treaty/base/mutex.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/store/leases.h"
#include "treaty/store/memory/session_machines.h"
#include "treaty/store/store_options.h"
#include "treaty/store/work_pool.h"

namespace treaty::store {
namespace {

using Texts = std::vector<std::string>;

struct Execution {
  std::optional<LeaseRecord> lease{};
  std::string machine{};
  std::int64_t session = 0;
  std::optional<Checkpoint> latest{};
  Milliseconds updated_at = 0;
  Texts journal{};
};

struct Signal {
  std::string channel{};
  std::string data{};
  std::string addressee{};  // Empty: whoever asks first.
};

class MemoryMachines final : public MemoryMachineStore {
 public:
  MemoryMachines(std::shared_ptr<const Clock> clock, IsDeleted is_deleted)
      : MemoryMachineStore(std::move(clock)),
        owner_(new_owner()),
        is_deleted_(std::move(is_deleted)) {}

  Task<Lease> acquire(std::string execution) override {
    TREATY_CO_TRY_VOID(check_execution_id(execution));
    const MutexLock lock(mutex_);
    forget_deleted();
    Execution& entry = executions_[execution];
    TREATY_CO_TRY(entry.lease, next_lease(entry.lease, owner_, now()));
    co_return Lease{.token = entry.lease->token};
  }

  Task<void> renew(std::string execution, std::int64_t token) override {
    const MutexLock lock(mutex_);
    TREATY_CO_TRY(Execution * entry, held(execution, token));
    entry->lease->until = lease_end(now());
    co_return std::expected<void, Error>();
  }

  Task<void> release(std::string execution, std::int64_t token) override {
    const MutexLock lock(mutex_);
    TREATY_CO_TRY(Execution * entry, held(execution, token));
    entry->lease->owner.clear();
    co_return std::expected<void, Error>();
  }

  Task<void> write(MachineWrite write) override {
    TREATY_CO_TRY_VOID(check_write(write));
    const MutexLock lock(mutex_);
    TREATY_CO_TRY_VOID(check_session(write));
    TREATY_CO_TRY(Execution * entry, held(write.execution, write.token));
    apply(*entry, std::move(write));
    co_return std::expected<void, Error>();
  }

  Task<std::optional<std::string>> take_signal(std::string channel, Taken taken,
                                               MachineWrite waiting) override {
    TREATY_CO_TRY_VOID(check_write(waiting));
    const MutexLock lock(mutex_);
    TREATY_CO_TRY_VOID(check_session(waiting));
    TREATY_CO_TRY(Execution * entry, held(waiting.execution, waiting.token));
    const auto signal = std::ranges::find_if(signals_, [&](const Signal& one) {
      return one.channel == channel &&
             (one.addressee.empty() || one.addressee == waiting.execution);
    });
    if (signal == signals_.end()) {
      apply(*entry, std::move(waiting));
      co_return std::nullopt;
    }
    MachineWrite write = taken(signal->data);
    TREATY_CO_TRY_VOID(check_write(write));
    TREATY_CO_TRY(Execution * target, held(write.execution, write.token));
    apply(*target, std::move(write));
    std::string data = std::move(signal->data);
    signals_.erase(signal);
    co_return data;
  }

  Task<Texts> send_signal(std::string channel, std::string data) override {
    const MutexLock lock(mutex_);
    forget_deleted();
    Texts waiters;
    for (const auto& [id, entry] : executions_) {
      if (!entry.latest || entry.latest->event != kWaiting || entry.latest->channel != channel) {
        continue;
      }
      waiters.push_back(id);
      signals_.push_back({.channel = channel, .data = data, .addressee = id});
    }
    if (waiters.empty())
      signals_.push_back({.channel = std::move(channel), .data = std::move(data)});
    std::ranges::sort(waiters);
    co_return waiters;
  }

  Task<std::optional<ExecutionRecord>> find_execution(std::string execution) override {
    const MutexLock lock(mutex_);
    forget_deleted();
    const auto found = executions_.find(execution);
    if (found == executions_.end() || !found->second.latest) co_return std::nullopt;
    const Checkpoint& latest = *found->second.latest;
    co_return ExecutionRecord{.execution = std::move(execution),
                              .latest_event = latest.event,
                              .latest_step = latest.step,
                              .snapshot = latest.snapshot,
                              .journal = found->second.journal};
  }

  Task<std::vector<ExecutionRow>> list_executions() override {
    const MutexLock lock(mutex_);
    forget_deleted();
    co_return rows();
  }

  Task<std::vector<SessionExecution>> list_abandoned() override {
    const MutexLock lock(mutex_);
    forget_deleted();
    std::vector<SessionExecution> abandoned;
    for (const ExecutionRow& row : rows()) {
      const std::int64_t session = executions_.at(row.execution).session;
      if (session == 0 || row.is_leased || rests(row.event)) continue;
      abandoned.push_back({.execution = row.execution, .session = session});
    }
    std::ranges::sort(abandoned, {}, &SessionExecution::execution);
    co_return abandoned;
  }

  std::set<std::int64_t> running_sessions() override {
    const MutexLock lock(mutex_);
    std::set<std::int64_t> running;
    for (const auto& [id, entry] : executions_) {
      if (entry.session != 0 && entry.lease && is_held(*entry.lease, now())) {
        running.insert(entry.session);
      }
    }
    return running;
  }

  Task<Texts> prune_executions(PruneQuery query) override {
    const MutexLock lock(mutex_);
    forget_deleted();
    Texts pruned;
    for (const ExecutionRow& row : executions_to_prune(rows(), query)) {
      pruned.push_back(row.execution);
      if (query.only_count) continue;
      executions_.erase(row.execution);
      std::erase_if(signals_, [&](const Signal& one) { return one.addressee == row.execution; });
    }
    co_return pruned;
  }

  Task<WorkCounts> count_work(std::string pool) override {
    const MutexLock lock(mutex_);
    co_return pools_[pool].counts();
  }

 private:
  std::expected<Execution*, Error> held(const std::string& execution, std::int64_t token)
      TREATY_REQUIRES(mutex_) {
    const auto found = executions_.find(execution);
    const bool is_known = found != executions_.end();
    TREATY_TRY_VOID(check_lease(is_known ? found->second.lease : std::nullopt, owner_, token));
    return &found->second;
  }

  std::expected<void, Error> check_session(const MachineWrite& write) TREATY_REQUIRES(mutex_) {
    forget_deleted();
    if (is_deleted_ && is_deleted_(write.session)) return std::unexpected(session_is_deleted());
    return {};
  }

  // Executions go with the session that they ran for.
  void forget_deleted() TREATY_REQUIRES(mutex_) {
    if (!is_deleted_) return;
    std::set<std::string> gone;
    std::erase_if(executions_, [&](const auto& entry) {
      if (!is_deleted_(entry.second.session)) return false;
      gone.insert(entry.first);
      return true;
    });
    std::erase_if(signals_, [&](const Signal& one) { return gone.contains(one.addressee); });
  }

  void apply(Execution& entry, MachineWrite write) {
    std::ranges::move(write.journal, std::back_inserter(entry.journal));
    if (!write.checkpoints.empty()) {
      entry.machine = std::move(write.machine);
      if (entry.session == 0) entry.session = write.session;
      entry.latest = std::move(write.checkpoints.back());
      entry.updated_at = now();
    }
    if (write.releases) entry.lease->owner.clear();
  }

  std::vector<ExecutionRow> rows() const TREATY_REQUIRES(mutex_) {
    std::vector<ExecutionRow> all;
    const Milliseconds at = now();
    for (const auto& [id, entry] : executions_) {
      if (!entry.latest) continue;
      const bool is_leased = entry.lease && is_held(*entry.lease, at);
      all.push_back({.execution = id,
                     .machine = entry.machine,
                     .event = entry.latest->event,
                     .state = entry.latest->state,
                     .channel = entry.latest->channel,
                     .step = entry.latest->step,
                     .updated_at = timestamp_of(entry.updated_at),
                     .is_leased = is_leased,
                     .owner = is_leased ? entry.lease->owner : std::string()});
    }
    sort_newest_first(all);
    return all;
  }

  std::expected<void, Error> change(const std::string& pool, const Decide& decide) override {
    const MutexLock lock(mutex_);
    WorkPool& work = pools_[pool];
    TREATY_TRY(auto events, decide(work));
    for (WorkEvent& event : events) work.apply(std::move(event));
    return {};
  }

  const std::string owner_;
  const IsDeleted is_deleted_;
  Mutex mutex_;
  std::unordered_map<std::string, Execution> executions_ TREATY_GUARDED_BY(mutex_){};
  std::list<Signal> signals_ TREATY_GUARDED_BY(mutex_){};  // In the order they came.
  std::map<std::string, WorkPool> pools_ TREATY_GUARDED_BY(mutex_){};
};

}  // namespace

std::unique_ptr<MachineStore> open_memory_machines(std::shared_ptr<const Clock> clock) {
  return open_session_machines(std::move(clock), {});
}

std::unique_ptr<MemoryMachineStore> open_session_machines(std::shared_ptr<const Clock> clock,
                                                          IsDeleted is_deleted) {
  return std::make_unique<MemoryMachines>(std::move(clock), std::move(is_deleted));
}

}  // namespace treaty::store
