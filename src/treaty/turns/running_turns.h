// What runs in this process: requests by what makes them the same, rounds by their turn, and those
// who follow a session's diary. For any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "treaty/base/mutex.h"
#include "treaty/base/notifier.h"
#include "treaty/store/records.h"
#include "treaty/turns/turn_log.h"

namespace treaty::turns {

class TurnRun;

class RunningTurns {
 public:
  struct Request {
    std::shared_ptr<TurnLog> log;
    std::string fingerprint;
  };

  // Returns the same request if it runs or waits already. Otherwise registers `mine` and returns
  // nothing.
  std::optional<Request> join(const std::string& key, Request&& mine);

  // A run begins for the request: it writes the log of those who wait for the same request, if
  // there are any, else the log of `mine`. Returns that log, which is assigned from then on.
  std::shared_ptr<TurnLog> begin_run(const std::string& key, Request&& mine);

  // The request that waits with this log needs no run. False: the log is assigned to one already.
  bool withdraw(const std::string& key, const TurnLog& log);

  // Forgets the request if it waits and only this registry holds its log: no client waits for the
  // answer.
  void forget_unfollowed(const std::string& key);

  // From now on join() returns this log for the request.
  void replace(const std::string& key, std::shared_ptr<TurnLog> log);

  // The run that has written this log is over: a repetition of the request asks the journal.
  void leave(const std::string& key, const TurnLog& log);

  void add(const std::shared_ptr<TurnRun>& run);
  void remove(const TurnRun& run);
  std::shared_ptr<TurnRun> find_turn(std::int64_t turn) const;
  std::shared_ptr<TurnRun> find_session(std::int64_t session) const;
  std::size_t count() const;

  // The log of a round that has been answered, if somebody reads it now; else `made` becomes it.
  // Many who replay one long answer hold it once.
  std::shared_ptr<TurnLog> share_replay(std::int64_t turn, std::int64_t first_event,
                                        std::shared_ptr<TurnLog> made);

  // Notifies whenever the diary of that session grows, as long as somebody holds it.
  std::shared_ptr<Notifier> diary_notifier(std::int64_t session);
  void notify_diary(std::int64_t session);

 private:
  bool is_entry(const std::string& key, const TurnLog& log) const TREATY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<std::string, Request> requests_ TREATY_GUARDED_BY(mutex_){};
  // A run is held by its own coroutine: what is left when the loops end goes with them.
  std::unordered_map<std::int64_t, std::weak_ptr<TurnRun>> turns_ TREATY_GUARDED_BY(mutex_){};
  std::unordered_map<std::int64_t, std::weak_ptr<TurnRun>> sessions_ TREATY_GUARDED_BY(mutex_){};
  std::unordered_map<std::int64_t, std::weak_ptr<Notifier>> notifiers_ TREATY_GUARDED_BY(mutex_){};
  std::map<std::pair<std::int64_t, std::int64_t>, std::weak_ptr<TurnLog>> replays_
      TREATY_GUARDED_BY(mutex_){};
  std::size_t sweep_replays_at_ TREATY_GUARDED_BY(mutex_) = 16;
  std::size_t sweep_at_ TREATY_GUARDED_BY(mutex_) =
      16;  // So many notifiers: time to drop those that nobody holds.
};

// The key of a request among all that run: tenant, session and RequestRecord::key.
std::string live_key(const store::Room& room, std::string_view request_key);

}  // namespace treaty::turns
