#include "treaty/turns/running_turns.h"

#include "treaty/turns/turn_run.h"

namespace treaty::turns {
namespace {

// When there are so many: drops what nobody holds any more.
void sweep(auto& entries, std::size_t& at) {
  if (entries.size() < at) return;
  std::erase_if(entries, [](const auto& entry) { return entry.second.expired(); });
  at = 2 * entries.size() + 16;
}

}  // namespace

std::optional<RunningTurns::Request> RunningTurns::join(const std::string& key, Request&& mine) {
  const MutexLock lock(mutex_);
  const auto [entry, is_new] = requests_.try_emplace(key, std::move(mine));
  if (is_new) return std::nullopt;
  return entry->second;
}

std::shared_ptr<TurnLog> RunningTurns::begin_run(const std::string& key, Request&& mine) {
  const MutexLock lock(mutex_);
  Request& entry = requests_[key];
  const bool is_awaited =
      entry.log && !entry.log->is_assigned() && entry.fingerprint == mine.fingerprint;
  if (!is_awaited) entry = std::move(mine);
  entry.log->assign();
  return entry.log;
}

bool RunningTurns::is_entry(const std::string& key, const TurnLog& log) const {
  const auto entry = requests_.find(key);
  return entry != requests_.end() && entry->second.log.get() == &log;
}

bool RunningTurns::withdraw(const std::string& key, const TurnLog& log) {
  const MutexLock lock(mutex_);
  if (log.is_assigned()) return false;
  if (is_entry(key, log)) requests_.erase(key);
  return true;
}

// No further holder can appear meanwhile, since the registry hands out its logs under this lock.
void RunningTurns::forget_unfollowed(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto entry = requests_.find(key);
  if (entry == requests_.end()) return;
  const std::shared_ptr<TurnLog>& log = entry->second.log;
  if (!log->is_assigned() && log.use_count() == 1) requests_.erase(entry);
}

void RunningTurns::replace(const std::string& key, std::shared_ptr<TurnLog> log) {
  const MutexLock lock(mutex_);
  requests_[key].log = std::move(log);
}

void RunningTurns::leave(const std::string& key, const TurnLog& log) {
  const MutexLock lock(mutex_);
  if (is_entry(key, log)) requests_.erase(key);
}

void RunningTurns::add(const std::shared_ptr<TurnRun>& run) {
  const MutexLock lock(mutex_);
  sessions_[run->session()] = run;
  turns_[run->turn()] = run;
}

void RunningTurns::remove(const TurnRun& run) {
  const MutexLock lock(mutex_);
  turns_.erase(run.turn());
  const auto of_session = sessions_.find(run.session());
  if (of_session != sessions_.end() && of_session->second.lock().get() == &run) {
    sessions_.erase(of_session);
  }
}

std::shared_ptr<TurnRun> RunningTurns::find_turn(std::int64_t turn) const {
  const MutexLock lock(mutex_);
  const auto found = turns_.find(turn);
  return found == turns_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<TurnRun> RunningTurns::find_session(std::int64_t session) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second.lock();
}

std::size_t RunningTurns::count() const {
  const MutexLock lock(mutex_);
  return turns_.size();
}

std::shared_ptr<TurnLog> RunningTurns::share_replay(std::int64_t turn, std::int64_t first_event,
                                                    std::shared_ptr<TurnLog> made) {
  const MutexLock lock(mutex_);
  sweep(replays_, sweep_replays_at_);
  std::weak_ptr<TurnLog>& kept = replays_[{turn, first_event}];
  if (auto shared = kept.lock()) return shared;
  kept = made;
  return made;
}

std::shared_ptr<Notifier> RunningTurns::diary_notifier(std::int64_t session) {
  const MutexLock lock(mutex_);
  auto notifier = notifiers_[session].lock();
  if (notifier) return notifier;
  sweep(notifiers_, sweep_at_);
  notifier = std::make_shared<Notifier>();
  notifiers_[session] = notifier;
  return notifier;
}

void RunningTurns::notify_diary(std::int64_t session) {
  std::shared_ptr<Notifier> notifier;
  {
    const MutexLock lock(mutex_);
    const auto found = notifiers_.find(session);
    if (found == notifiers_.end()) return;
    notifier = found->second.lock();
  }
  if (notifier) notifier->notify_all();
}

std::string live_key(const store::Room& room, std::string_view request_key) {
  std::string key;
  key.reserve(room.tenant.size() + room.session_id.size() + request_key.size() + 2);
  key.append(room.tenant).append(1, '\0').append(room.session_id).append(1, '\0');
  return key.append(request_key);
}

}  // namespace treaty::turns
