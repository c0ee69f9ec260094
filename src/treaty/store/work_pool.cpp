#include "treaty/store/work_pool.h"

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

void WorkPool::on(WorkPushed& event) {
  const std::size_t place = entries_.size();
  if (!places_.emplace(event.item, place).second) return;
  entries_.push_back({.item = {.id = std::move(event.item), .data = std::move(event.data)},
                      .max_retries = event.max_retries});
  pending_.insert(place);
  ++counts_.pending;
}

void WorkPool::on(const WorkClaimed& event) {
  const auto place = place_of(event.item, Status::pending);
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
  move_to(*place, entry.item.attempts >= entry.max_retries ? Status::poisoned : Status::pending);
  entry.error = std::move(event.error);
}

void WorkPool::on(const WorkReleased& event) {
  const auto found = workers_.find(event.worker);
  if (found == workers_.end()) return;
  const std::set<std::size_t> places = found->second.places;
  for (const std::size_t place : places) move_to(place, Status::pending);
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

}  // namespace treaty::store
