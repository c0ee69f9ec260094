// A store of machines in memory that fails on command and counts what it is asked, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "treaty/store/memory/memory_machines.h"

namespace treaty::testing {

class FailingMachineStore final : public store::MachineStore {
 public:
  // How many of the next calls of that name fail: `unavailable`. "find_execution: gone": nothing is
  // found instead.
  std::map<std::string, int> failures{};
  std::map<std::string, int> fail_after{};  // One failure, after so many calls.
  std::map<std::string, int> calls{};

  store::MachineStore& real() { return *real_; }

  store::Task<store::Lease> acquire(std::string execution) override {
    if (fails("acquire")) co_return std::unexpected(failure());
    co_return co_await real_->acquire(std::move(execution));
  }
  store::Task<void> renew(std::string execution, std::int64_t token) override {
    if (fails("renew")) co_return std::unexpected(failure());
    co_return co_await real_->renew(std::move(execution), token);
  }
  store::Task<void> release(std::string execution, std::int64_t token) override {
    if (fails("release")) co_return std::unexpected(failure());
    co_return co_await real_->release(std::move(execution), token);
  }
  store::Task<void> write(store::MachineWrite write) override {
    if (fails("write")) co_return std::unexpected(failure());
    co_return co_await real_->write(std::move(write));
  }
  store::Task<std::optional<std::string>> take_signal(std::string channel, Taken taken,
                                                      store::MachineWrite waiting) override {
    if (fails("take_signal")) co_return std::unexpected(failure());
    co_return co_await real_->take_signal(std::move(channel), std::move(taken), std::move(waiting));
  }
  store::Task<std::optional<store::ExecutionRecord>> find_execution(
      std::string execution) override {
    if (fails("find_execution")) co_return std::unexpected(failure());
    if (fails("find_execution: gone")) co_return std::nullopt;
    co_return co_await real_->find_execution(std::move(execution));
  }

  store::Task<std::vector<std::string>> send_signal(std::string channel,
                                                    std::string data) override {
    return real_->send_signal(std::move(channel), std::move(data));
  }
  store::Task<std::vector<store::ExecutionRow>> list_executions() override {
    return real_->list_executions();
  }
  store::Task<std::vector<store::SessionExecution>> list_abandoned() override {
    return real_->list_abandoned();
  }
  store::Task<std::vector<std::string>> prune_executions(store::PruneQuery query) override {
    return real_->prune_executions(query);
  }
  store::Task<std::vector<std::string>> push_work(std::string pool, std::vector<std::string> items,
                                                  int max_retries) override {
    return real_->push_work(std::move(pool), std::move(items), max_retries);
  }
  store::Task<std::optional<store::WorkItem>> claim_work(std::string pool,
                                                         std::string worker) override {
    return real_->claim_work(std::move(pool), std::move(worker));
  }
  store::Task<void> complete_work(std::string pool, std::string item, std::string worker,
                                  std::string result) override {
    return real_->complete_work(std::move(pool), std::move(item), std::move(worker),
                                std::move(result));
  }
  store::Task<void> fail_work(std::string pool, std::string item, std::string worker,
                              std::string error) override {
    return real_->fail_work(std::move(pool), std::move(item), std::move(worker), std::move(error));
  }
  store::Task<void> excuse_work(std::string pool, std::string item, std::string worker) override {
    return real_->excuse_work(std::move(pool), std::move(item), std::move(worker));
  }
  store::Task<void> heartbeat(std::string pool, std::string worker) override {
    return real_->heartbeat(std::move(pool), std::move(worker));
  }
  store::Task<store::ReleasedWork> release_stale_work(std::string pool) override {
    return real_->release_stale_work(std::move(pool));
  }
  store::Task<store::WorkCounts> count_work(std::string pool) override {
    return real_->count_work(std::move(pool));
  }

 private:
  bool fails(const std::string& call) {
    if (const auto late = fail_after.find(call); late != fail_after.end()) {
      if (late->second-- == 0) ++failures[call];
    }
    ++calls[call];
    return failures[call] > 0 && failures[call]-- > 0;
  }
  static Error failure() { return {ErrorCode::unavailable, "the disk is full"}; }

  std::unique_ptr<store::MachineStore> real_ = store::open_memory_machines();
};

}  // namespace treaty::testing
