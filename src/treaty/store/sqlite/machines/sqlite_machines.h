// What machines keep, in SQLite, on the threads of the store: their commits are shared with
// everything else that is written.
#pragma once

#include <functional>
#include <string>

#include "treaty/store/machines.h"
#include "treaty/store/sqlite/readers.h"
#include "treaty/store/sqlite/writer.h"

namespace treaty::store::sqlite {

class SqliteMachines final : public MachineStore {
 public:
  // `writer` is null when the store was opened only to be read. All must outlive this.
  SqliteMachines(Writer* writer, Readers& readers, std::function<Milliseconds()> now);

  Task<Lease> acquire(std::string execution) override;
  Task<void> renew(std::string execution, std::int64_t token) override;
  Task<void> release(std::string execution, std::int64_t token) override;
  Task<void> write(MachineWrite write) override;
  Task<std::optional<std::string>> take_signal(std::string channel, Taken taken,
                                               MachineWrite waiting) override;
  Task<std::vector<std::string>> send_signal(std::string channel, std::string data) override;
  Task<std::optional<ExecutionRecord>> find_execution(std::string execution) override;
  Task<std::vector<ExecutionRow>> list_executions() override;
  Task<std::vector<std::string>> prune_executions(PruneQuery query) override;

  Task<std::vector<std::string>> push_work(std::string pool, std::vector<std::string> items,
                                           int max_retries) override;
  Task<std::optional<WorkItem>> claim_work(std::string pool, std::string worker) override;
  Task<void> complete_work(std::string pool, std::string item, std::string worker,
                           std::string result) override;
  Task<void> fail_work(std::string pool, std::string item, std::string worker,
                       std::string error) override;
  Task<void> heartbeat(std::string pool, std::string worker) override;
  Task<std::int64_t> release_stale_work(std::string pool) override;
  Task<WorkCounts> count_work(std::string pool) override;

 private:
  template <class T, class Query>
  Task<T> query(Query query);
  template <class T, class Work>
  Task<T> change(Work work);

  Writer* writer_;
  Readers& readers_;
  const std::function<Milliseconds()> now_;
  const std::string owner_;
};

}  // namespace treaty::store::sqlite
