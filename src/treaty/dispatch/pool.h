// One quota pool: everybody who calls the same model with the same key waits in one line here, on
// whatever thread. Thread-safe; no method blocks for longer than it takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "treaty/base/mutex.h"
#include "treaty/base/notifier.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/dispatch/policy.h"
#include "treaty/dispatch/quota/breaker.h"
#include "treaty/dispatch/quota/quota.h"

namespace treaty::dispatch {

// Who is asked: two entries of the configuration with the same address, key and model are one pool.
struct PoolName {
  std::string key{};       // Digest of address and secret, and the model: the same after a restart.
  std::string provider{};  // As the configuration names it,
  std::string model{};     // for people.
  bool has_limits = true;  // Its answers may tell windows: begin carefully.
};

// What dispatch decided about a call of a pool, other than that it has its answer.
struct PoolDecision {
  CallDecision decision{};
  Seconds ago = 0;
};

// What a pool shows of itself, at one moment; times from then on.
struct PoolView {
  PoolName name{};
  std::vector<LimitLine> windows{};
  Seconds next_free_in = 0;  // For a call that came now.
  std::string obstacle{};    // Why not now; empty: it is free.
  Seconds blocked_for = 0;   // A 429 said so.
  int waiting = 0;
  int running = 0;
  BreakerState breaker = BreakerState::closed;
  int failures = 0;                        // In a row.
  Seconds probe_in = 0;                    // Until the probe.
  std::optional<PoolDecision> decision{};  // The newest.
};

class Pool {
 public:
  explicit Pool(PoolName name);

  // The configuration calls its provider otherwise now.
  void rename(const PoolName& name);

  // A place in the line. Nobody who came later is let go before.
  std::uint64_t join();

  // Either lets the call go (nothing is answered, and tell() or drop() must follow), or says what
  // keeps it: then the waker, if there is one, is notified when that changes.
  std::optional<Delay> ask(std::uint64_t place, double bytes, const Policy& policy, Moment now,
                           const std::shared_ptr<Waker>& waker);

  // Somebody waits for a reason of its own (a backoff): the waker is notified when the breaker
  // opens.
  void doze(std::uint64_t place, const std::shared_ptr<Waker>& waker);

  // Leaves the line, or ends the doze.
  void leave(std::uint64_t place);

  // How a call that was let go has ended.
  Breaker::Told tell(std::uint64_t place, double bytes, const contracts::AgentResult& result,
                     const Policy& policy, Moment now);
  void drop(std::uint64_t place);  // It was never sent, or nobody knows how it ended.

  // What its limits and its breaker would keep a call from now; nobody else who waits counts.
  std::optional<Delay> limit(double bytes, const Policy& policy, Moment now) const;

  // For people who look at the pool.
  void note(const CallDecision& decision, Moment now);

  bool is_open(Moment now) const;  // The breaker: nobody is let go now.

  TokenEstimate estimate() const;
  PoolView view(Moment now) const;

  // What outlives the process, as JSON with times since 1970. restore() answers false, and changes
  // nothing, when the text makes no sense. Whether it has changed since the last save.
  std::string save(Moment now, double unix_now);
  bool restore(std::string_view state, Moment now, double unix_now);
  bool has_news() const;
  void keep_news();  // What was saved did not arrive.

 private:
  struct Waiting {
    std::shared_ptr<Waker> waker;
    Cost cost{};
    int max_concurrent = 0;  // Its own limit.
  };
  struct Running {
    std::uint64_t number = 0;  // Of the quota.
    bool is_probe = false;
  };

  std::optional<Delay> delay(std::uint64_t place, const Cost& cost, const Policy& policy,
                             Moment now) const TREATY_REQUIRES(mutex_);
  bool is_bound(const Waiting& waiting) const TREATY_REQUIRES(mutex_);
  bool is_next(std::uint64_t place) const TREATY_REQUIRES(mutex_);
  Cost ahead_of(std::uint64_t place) const TREATY_REQUIRES(mutex_);
  void take_out(std::uint64_t place) TREATY_REQUIRES(mutex_);
  void notify_first() const TREATY_REQUIRES(mutex_);
  void notify_all() const TREATY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  PoolName name_ TREATY_GUARDED_BY(mutex_);
  std::uint64_t next_place_ TREATY_GUARDED_BY(mutex_) = 1;
  std::map<std::uint64_t, Waiting> line_
      TREATY_GUARDED_BY(mutex_){};  // Those who wait for the pool,
  Cost line_cost_ TREATY_GUARDED_BY(mutex_){0, 0, 0};
  std::map<std::uint64_t, std::shared_ptr<Waker>> dozing_
      TREATY_GUARDED_BY(mutex_){};  // and for something else.
  std::map<std::uint64_t, Running> running_ TREATY_GUARDED_BY(mutex_){};
  Quota quota_ TREATY_GUARDED_BY(mutex_){};
  Breaker breaker_ TREATY_GUARDED_BY(mutex_){};
  TokenEstimate estimate_ TREATY_GUARDED_BY(mutex_){};
  Moment next_release_ TREATY_GUARDED_BY(mutex_) = 0;  // Of those who waited: they are spread.
  int trust_ TREATY_GUARDED_BY(mutex_) =
      0;  // Calls at a time while nothing is known; 0: any number.
  int max_concurrent_ TREATY_GUARDED_BY(mutex_) = 0;  // What the last one who asked was limited to.
  bool has_news_ TREATY_GUARDED_BY(mutex_) = false;
  std::optional<CallDecision> decision_ TREATY_GUARDED_BY(mutex_){};
  Moment decided_ TREATY_GUARDED_BY(mutex_) = 0;
};

}  // namespace treaty::dispatch
