// A work pool as a value: what has happened to its items, one event after the other, and what may
// happen next. Whoever keeps the events has the pool.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "treaty/store/machines.h"
#include "treaty/store/store_options.h"

namespace treaty::store {

struct WorkPushed {
  std::string item{};
  std::string data{};
  int max_retries = 0;
};
struct WorkClaimed {
  std::string item{};
  std::string worker{};
  Milliseconds at = 0;
};
struct WorkCompleted {
  std::string item{};
  std::string result{};
};
struct WorkFailed {
  std::string item{};
  std::string error{};
};
struct WorkReleased {
  std::string worker{};  // All that it has.
};
struct WorkExcused {
  std::string item{};
};
struct WorkerSeen {
  std::string worker{};
  Milliseconds at = 0;
};
using WorkEvent = std::variant<WorkPushed, WorkClaimed, WorkCompleted, WorkFailed, WorkReleased,
                               WorkExcused, WorkerSeen>;

class WorkPool {
 public:
  // Events that do not fit to what is there change nothing.
  void apply(WorkEvent event);

  std::optional<std::string> oldest_pending() const;
  bool has(const std::string& worker, const std::string& item) const;
  WorkItem item(const std::string& id) const;  // Of one that is there.
  std::vector<std::string> stale_workers(Milliseconds now) const;
  std::int64_t count_of(const std::string& worker) const;  // Items that it has.
  ReleasedWork what_release_does(const std::string& worker) const;
  WorkCounts counts() const { return counts_; }

 private:
  enum class Status { pending, claimed, completed, poisoned };
  struct Entry {
    WorkItem item{};
    int max_retries = 0;
    Status status = Status::pending;
    std::string worker{};  // That has it.
    std::string result{};
    std::string error{};

    // Whether it was claimed as often as it may be.
    bool is_used_up() const { return item.attempts >= max_retries; }
  };
  struct Worker {
    Milliseconds seen_at = 0;
    std::set<std::size_t> places{};
  };

  void on(WorkPushed& event);
  void on(const WorkClaimed& event);
  void on(WorkCompleted& event);
  void on(WorkFailed& event);
  void on(const WorkReleased& event);
  void on(const WorkExcused& event);
  void on(const WorkerSeen& event);

  std::optional<std::size_t> place_of(const std::string& item, Status status) const;
  void move_to(std::size_t place, Status status, const std::string& worker = {});
  std::int64_t& count(Status status);

  std::vector<Entry> entries_{};  // In the order they came.
  std::unordered_map<std::string, std::size_t> places_{};
  std::set<std::size_t> pending_{};
  std::map<std::string, Worker> workers_{};  // Those that have something.
  WorkCounts counts_{};
};

// Whether a worker that has given no sign since then has lost its items.
bool is_stale(std::string_view worker, Milliseconds seen_at, Milliseconds now);

Error not_your_work();

// The error of an item that is poisoned because its worker is gone: JSON.
constexpr std::string_view kWorkerGone =
    R"({"code":"worker_gone","type":"WorkerGone","message":"The worker that had this item ended, )"
    R"(or gave no sign for two heartbeats, before the item was done."})";

// The work pools of a store that keeps their events: what is decided, and which events come of it.
class WorkEventStore : public MachineStore {
 public:
  Task<std::vector<std::string>> push_work(std::string pool, std::vector<std::string> items,
                                           int max_retries) final;
  Task<std::optional<WorkItem>> claim_work(std::string pool, std::string worker) final;
  Task<void> complete_work(std::string pool, std::string item, std::string worker,
                           std::string result) final;
  Task<void> fail_work(std::string pool, std::string item, std::string worker,
                       std::string error) final;
  Task<void> excuse_work(std::string pool, std::string item, std::string worker) final;
  Task<void> heartbeat(std::string pool, std::string worker) final;
  Task<ReleasedWork> release_stale_work(std::string pool) final;

 protected:
  using Decide = std::function<std::expected<std::vector<WorkEvent>, Error>(const WorkPool& pool)>;

  explicit WorkEventStore(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  Milliseconds now() const { return clock_->unix_now(); }

  // Keeps the events that `decide` answers: all of them or none. Nobody else changes the pool
  // between what `decide` sees and that.
  virtual std::expected<void, Error> change(const std::string& pool, const Decide& decide) = 0;

 private:
  std::expected<void, Error> end_work(const std::string& pool, const std::string& worker,
                                      const std::string& item, const WorkEvent& event);

  const std::shared_ptr<const Clock> clock_;
};

}  // namespace treaty::store
