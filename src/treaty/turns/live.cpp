#include "treaty/turns/live.h"

#include "treaty/turns/turn_run.h"

namespace treaty::turns {

std::optional<Live::Request> Live::join(const std::string& key, Request mine) {
  const MutexLock lock(mutex_);
  const auto [entry, is_new] = requests_.try_emplace(key, std::move(mine));
  if (is_new) return std::nullopt;
  return entry->second;
}

void Live::replace(const std::string& key, std::shared_ptr<TurnLog> log) {
  const MutexLock lock(mutex_);
  requests_[key].log = std::move(log);
}

void Live::leave(const std::string& key) {
  const MutexLock lock(mutex_);
  requests_.erase(key);
}

void Live::add(const std::shared_ptr<TurnRun>& run) {
  const MutexLock lock(mutex_);
  sessions_[run->session()] = run;
  turns_[run->turn()] = run;
}

void Live::remove(const TurnRun& run) {
  const MutexLock lock(mutex_);
  turns_.erase(run.turn());
  const auto of_session = sessions_.find(run.session());
  if (of_session != sessions_.end() && of_session->second.lock().get() == &run) {
    sessions_.erase(of_session);
  }
}

std::shared_ptr<TurnRun> Live::find_turn(std::int64_t turn) const {
  const MutexLock lock(mutex_);
  const auto found = turns_.find(turn);
  return found == turns_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<TurnRun> Live::find_session(std::int64_t session) const {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second.lock();
}

std::size_t Live::count() const {
  const MutexLock lock(mutex_);
  return turns_.size();
}

std::shared_ptr<TurnLog> Live::share_replay(std::int64_t turn, std::int64_t first_event,
                                            std::shared_ptr<TurnLog> made) {
  const MutexLock lock(mutex_);
  if (replays_.size() >= sweep_replays_at_) {
    std::erase_if(replays_, [](const auto& entry) { return entry.second.expired(); });
    sweep_replays_at_ = 2 * replays_.size() + 16;
  }
  std::weak_ptr<TurnLog>& kept = replays_[{turn, first_event}];
  if (auto shared = kept.lock()) return shared;
  kept = made;
  return made;
}

std::shared_ptr<Notifier> Live::diary_notifier(std::int64_t session) {
  const MutexLock lock(mutex_);
  auto notifier = notifiers_[session].lock();
  if (!notifier) {
    if (notifiers_.size() >= sweep_at_) {
      std::erase_if(notifiers_, [](const auto& entry) { return entry.second.expired(); });
      sweep_at_ = 2 * notifiers_.size() + 16;
    }
    notifier = std::make_shared<Notifier>();
    notifiers_[session] = notifier;
  }
  return notifier;
}

void Live::notify_diary(std::int64_t session) {
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
