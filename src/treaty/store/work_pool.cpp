#include "treaty/store/work_pool.h"

#include "treaty/base/ids.h"
#include "treaty/base/try.h"
#include "treaty/store/leases.h"

namespace treaty::store {
namespace {

constexpr Milliseconds kTwoHeartbeats = 60'000;

}  // namespace

bool is_stale(std::string_view worker, Milliseconds seen_at, Milliseconds now) {
  return now - seen_at > kTwoHeartbeats || is_gone(worker);
}

Error not_your_work() {
  return {.code = ErrorCode::conflict,
          .message =
              "this worker does not have that item (any more): it is done, or was given to "
              "another one after two missed heartbeats"};
}

void WorkPool::apply(WorkEvent event) {
  std::visit([this](auto& one) { on(one); }, event);
}

std::optional<std::string> WorkPool::oldest_pending() const {
  if (pending_.empty()) return std::nullopt;
  return entries_[*pending_.begin()].item.id;
}

bool WorkPool::has(const std::string& worker, const std::string& item) const {
  const auto place = place_of(item, Status::claimed);
  return place && entries_[*place].worker == worker;
}

WorkItem WorkPool::item(const std::string& id) const { return entries_[places_.at(id)].item; }

std::vector<std::string> WorkPool::stale_workers(Milliseconds now) const {
  std::vector<std::string> stale;
  for (const auto& [name, worker] : workers_) {
    if (is_stale(name, worker.seen_at, now)) stale.push_back(name);
  }
  return stale;
}

std::int64_t WorkPool::count_of(const std::string& worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? 0 : static_cast<std::int64_t>(found->second.places.size());
}

ReleasedWork WorkPool::what_release_does(const std::string& worker) const {
  ReleasedWork released;
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return released;
  for (const std::size_t place : found->second.places) {
    const Entry& entry = entries_[place];
    if (entry.is_used_up()) {
      released.poisoned.push_back({.id = entry.item.id, .attempts = entry.item.attempts});
    } else {
      ++released.pending;
    }
  }
  return released;
}

void WorkPool::on(WorkPushed& event) {
  const std::size_t place = entries_.size();
  if (!places_.emplace(event.item, place).second) return;
  entries_.push_back({.item = {.id = std::move(event.item), .data = std::move(event.data)},
                      .max_retries = event.max_retries});
  pending_.insert(place);
  ++counts_.pending;
}

void WorkPool::on(const WorkClaimed& event) {
  auto place = place_of(event.item, Status::pending);
  // In a log of a version that did not poison the items of workers that were gone.
  if (!place) place = place_of(event.item, Status::poisoned);
  if (!place) return;
  move_to(*place, Status::claimed, event.worker);
  ++entries_[*place].item.attempts;
  workers_[event.worker].seen_at = event.at;
}

void WorkPool::on(WorkCompleted& event) {
  const auto place = place_of(event.item, Status::claimed);
  if (!place) return;
  move_to(*place, Status::completed);
  entries_[*place].result = std::move(event.result);
}

void WorkPool::on(WorkFailed& event) {
  const auto place = place_of(event.item, Status::claimed);
  if (!place) return;
  Entry& entry = entries_[*place];
  move_to(*place, entry.is_used_up() ? Status::poisoned : Status::pending);
  entry.error = std::move(event.error);
}

void WorkPool::on(const WorkReleased& event) {
  const auto found = workers_.find(event.worker);
  if (found == workers_.end()) return;
  const std::set<std::size_t> places = found->second.places;
  for (const std::size_t place : places) {
    Entry& entry = entries_[place];
    if (entry.is_used_up()) entry.error = kWorkerGone;
    move_to(place, entry.is_used_up() ? Status::poisoned : Status::pending);
  }
}

void WorkPool::on(const WorkExcused& event) {
  if (const auto place = place_of(event.item, Status::claimed)) --entries_[*place].item.attempts;
}

void WorkPool::on(const WorkerSeen& event) {
  const auto found = workers_.find(event.worker);
  if (found != workers_.end()) found->second.seen_at = event.at;
}

std::optional<std::size_t> WorkPool::place_of(const std::string& item, Status status) const {
  const auto found = places_.find(item);
  if (found == places_.end() || entries_[found->second].status != status) return std::nullopt;
  return found->second;
}

void WorkPool::move_to(std::size_t place, Status status, const std::string& worker) {
  Entry& entry = entries_[place];
  --count(entry.status);
  ++count(status);
  if (entry.status == Status::pending) pending_.erase(place);
  if (status == Status::pending) pending_.insert(place);
  if (const auto found = workers_.find(entry.worker); found != workers_.end()) {
    found->second.places.erase(place);
    if (found->second.places.empty()) workers_.erase(found);
  }
  if (status == Status::claimed) workers_[worker].places.insert(place);
  entry.status = status;
  entry.worker = worker;
}

std::int64_t& WorkPool::count(Status status) {
  switch (status) {
    case Status::pending: return counts_.pending;
    case Status::claimed: return counts_.claimed;
    case Status::completed: return counts_.completed;
    case Status::poisoned: return counts_.poisoned;
  }
  return counts_.pending;
}

Task<std::vector<std::string>> WorkEventStore::push_work(std::string pool,
                                                         std::vector<std::string> items,
                                                         int max_retries) {
  std::vector<std::string> ids;
  std::vector<WorkEvent> events;
  for (std::string& item : items) {
    ids.push_back(new_uuid());
    events.emplace_back(WorkPushed{ids.back(), std::move(item), max_retries});
  }
  TREATY_CO_TRY_VOID(change(pool, [&](const WorkPool&) { return std::move(events); }));
  co_return ids;
}

Task<std::optional<WorkItem>> WorkEventStore::claim_work(std::string pool, std::string worker) {
  std::optional<WorkItem> claimed;
  TREATY_CO_TRY_VOID(change(pool, [&](const WorkPool& work) -> std::vector<WorkEvent> {
    const auto item = work.oldest_pending();
    if (!item) return {};
    claimed = work.item(*item);
    ++claimed->attempts;  // As the event leaves it.
    return {WorkClaimed{*item, std::move(worker), now()}};
  }));
  co_return claimed;
}

Task<void> WorkEventStore::complete_work(std::string pool, std::string item, std::string worker,
                                         std::string result) {
  co_return end_work(pool, worker, item, WorkCompleted{item, std::move(result)});
}

Task<void> WorkEventStore::fail_work(std::string pool, std::string item, std::string worker,
                                     std::string error) {
  co_return end_work(pool, worker, item, WorkFailed{item, std::move(error)});
}

Task<void> WorkEventStore::excuse_work(std::string pool, std::string item, std::string worker) {
  co_return end_work(pool, worker, item, WorkExcused{item});
}

Task<void> WorkEventStore::heartbeat(std::string pool, std::string worker) {
  co_return change(pool, [&](const WorkPool& work) -> std::vector<WorkEvent> {
    if (work.count_of(worker) == 0) return {};
    return {WorkerSeen{std::move(worker), now()}};
  });
}

Task<ReleasedWork> WorkEventStore::release_stale_work(std::string pool) {
  ReleasedWork released;
  TREATY_CO_TRY_VOID(change(pool, [&](const WorkPool& work) {
    std::vector<WorkEvent> events;
    for (const std::string& worker : work.stale_workers(now())) {
      const auto [pending, poisoned] = work.what_release_does(worker);
      released.pending += pending;
      released.poisoned.insert(released.poisoned.end(), poisoned.begin(), poisoned.end());
      events.emplace_back(WorkReleased{worker});
    }
    return events;
  }));
  co_return released;
}

std::expected<void, Error> WorkEventStore::end_work(const std::string& pool,
                                                    const std::string& worker,
                                                    const std::string& item,
                                                    const WorkEvent& event) {
  return change(pool, [&](const WorkPool& work) -> std::expected<std::vector<WorkEvent>, Error> {
    if (!work.has(worker, item)) return std::unexpected(not_your_work());
    return std::vector{event};
  });
}

}  // namespace treaty::store
