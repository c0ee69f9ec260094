// A work pool as a value: what has happened to its items, one event after the other, and what may
// happen next. Whoever keeps the events has the pool.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "treaty/store/machines.h"

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
struct WorkerSeen {
  std::string worker{};
  Milliseconds at = 0;
};
using WorkEvent =
    std::variant<WorkPushed, WorkClaimed, WorkCompleted, WorkFailed, WorkReleased, WorkerSeen>;

class WorkPool {
 public:
  // Events that do not fit to what is there change nothing.
  void apply(WorkEvent event);

  std::optional<std::string> oldest_pending() const;
  bool has(const std::string& worker, const std::string& item) const;
  WorkItem item(const std::string& id) const;  // Of one that is there.
  std::vector<std::string> stale_workers(Milliseconds now) const;
  std::int64_t count_of(const std::string& worker) const;  // Items that it has.
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

}  // namespace treaty::store
