#include "treaty/dispatch/pool.h"

#include <algorithm>

#include "treaty/dispatch/quota/quota_state.h"

namespace treaty::dispatch {
namespace {

// Calls at a time before the first answer has told whether there are limits.
constexpr int kFirstTrust = 32;
constexpr int kFullTrust = 1'024;  // More than that at a time: no limit of ours.

// How soon somebody looks again who waits for others to end; mostly a notification comes first.
constexpr Seconds kPoolPoll = 5;
constexpr Seconds kProbeGlance = 1;

// When those who come now might be served, as long as others have to end first.
constexpr Seconds kSoon = 1;

}  // namespace

Pool::Pool(PoolName name) : name_(std::move(name)), trust_(name_.has_limits ? kFirstTrust : 0) {}

void Pool::rename(const PoolName& name) {
  const MutexLock lock(mutex_);
  name_ = name;
}

std::uint64_t Pool::join() {
  const MutexLock lock(mutex_);
  return next_place_++;
}

std::optional<Delay> Pool::ask(std::uint64_t place, double bytes, const Policy& policy, Moment now,
                               const std::shared_ptr<Waker>& waker) {
  const MutexLock lock(mutex_);
  quota_.advance(now);
  dozing_.erase(place);
  const Cost cost = estimate_.cost_of(bytes);
  max_concurrent_ = policy.max_concurrent;
  if (auto obstacle = delay(place, cost, policy, now)) {
    const auto [waiting, is_new] = line_.try_emplace(place, Waiting{waker, cost, 0});
    if (is_new) line_cost_ += cost;
    waiting->second.waker = waker;
    waiting->second.max_concurrent = policy.max_concurrent;
    return obstacle;
  }
  const bool has_waited = line_.contains(place);
  take_out(place);
  if (has_waited) next_release_ = now + quota_.gap(cost);
  running_[place] = {.number = quota_.send(cost, now),
                     .is_probe = policy.breaker_failures > 0 && breaker_.begin()};
  has_news_ = true;
  notify_first();
  return std::nullopt;
}

// The longest of what stands in the way; nothing: it may go.
std::optional<Delay> Pool::delay(std::uint64_t place, const Cost& cost, const Policy& policy,
                                 Moment now) const {
  std::optional<Delay> longest;
  const auto add = [&](Delay one) {
    if (!longest || one.wait > longest->wait) longest = std::move(one);
  };
  if (policy.breaker_failures > 0 && !breaker_.lets(now)) {
    const Seconds closed_for = *breaker_.open_until - now;
    return Delay{.obstacle = Obstacle::breaker, .wait = std::max(closed_for, kProbeGlance)};
  }
  const auto running = static_cast<int>(running_.size());
  if (policy.max_concurrent > 0 && running >= policy.max_concurrent) {
    add({.obstacle = Obstacle::concurrency, .wait = kPoolPoll, .is_unknown = true});
  }
  if (trust_ > 0 && running >= trust_) {
    add({.obstacle = Obstacle::warm_up, .wait = kPoolPoll, .is_unknown = true});
  }
  const bool is_first = is_next(place);
  if (auto limit = quota_.delay(is_first ? Cost{0, 0, 0} : ahead_of(place), cost, now)) {
    add(*std::move(limit));
  }
  // Those who waited go one after the other, in their order.
  if (!line_.empty() && now < next_release_) {
    add({.obstacle = Obstacle::line, .wait = next_release_ - now});
  }
  if (!longest && !is_first) {
    longest = Delay{.obstacle = Obstacle::line, .wait = kPoolPoll, .is_unknown = true};
  }
  return longest;
}

bool Pool::is_bound(const Waiting& waiting) const {
  return waiting.max_concurrent > 0 && static_cast<int>(running_.size()) >= waiting.max_concurrent;
}

// Whether nobody who came before could go now: those who wait only for a limit of their own keep
// nobody else.
bool Pool::is_next(std::uint64_t place) const {
  for (const auto& [other, waiting] : line_) {
    if (other >= place) return true;
    if (!is_bound(waiting)) return false;
  }
  return true;
}

// Whoever comes last need not count all the others.
Cost Pool::ahead_of(std::uint64_t place) const {
  if (line_.rbegin()->first < place) return line_cost_;
  Cost ahead{0, 0, 0};
  for (const auto& [other, waiting] : line_) {
    if (other >= place) break;
    ahead += waiting.cost;
  }
  return ahead;
}

void Pool::take_out(std::uint64_t place) {
  const auto found = line_.find(place);
  if (found == line_.end()) return;
  line_cost_ -= found->second.cost;
  line_.erase(found);
}

void Pool::doze(std::uint64_t place, const std::shared_ptr<Waker>& waker) {
  const MutexLock lock(mutex_);
  dozing_[place] = waker;
}

void Pool::leave(std::uint64_t place) {
  const MutexLock lock(mutex_);
  dozing_.erase(place);
  const bool was_first = !line_.empty() && line_.begin()->first == place;
  take_out(place);
  if (was_first) notify_first();
}

Breaker::Told Pool::tell(std::uint64_t place, double bytes, const contracts::AgentResult& result,
                         const Policy& policy, Moment now) {
  const MutexLock lock(mutex_);
  const auto call = running_.find(place);
  if (call == running_.end()) return {};
  const auto [number, is_probe] = call->second;
  running_.erase(call);
  if (!result.error && result.usage) estimate_.learn(bytes, *result.usage);
  const Moment blocked_before = quota_.blocked_until;
  quota_.tell(number, result, now);
  if (!quota_.windows.empty()) {
    trust_ = 0;
  } else if (is_refused(result)) {
    trust_ = 1;
  } else if (trust_ > 0 && !result.error) {
    trust_ = trust_ * 2 > kFullTrust ? 0 : trust_ * 2;
  }
  const Breaker::Told told = breaker_.tell(result, is_probe, policy, now);
  has_news_ = true;
  // Some who wait may go elsewhere now.
  if (told.opened || told.closed || quota_.blocked_until > blocked_before) {
    notify_all();
  } else {
    notify_first();
  }
  return told;
}

void Pool::drop(std::uint64_t place) {
  const MutexLock lock(mutex_);
  const auto call = running_.find(place);
  if (call == running_.end()) return;
  if (call->second.is_probe) breaker_.give_up_probe();
  running_.erase(call);
  notify_first();
}

std::optional<Delay> Pool::limit(double bytes, const Policy& policy, Moment now) const {
  const MutexLock lock(mutex_);
  if (policy.breaker_failures > 0 && !breaker_.lets(now)) {
    return Delay{.obstacle = Obstacle::breaker, .wait = *breaker_.open_until - now};
  }
  return quota_.delay(Cost{0, 0, 0}, estimate_.cost_of(bytes), now);
}

void Pool::note(const CallDecision& decision, Moment now) {
  const MutexLock lock(mutex_);
  decision_ = decision;
  decided_ = now;
}

bool Pool::is_open(Moment now) const {
  const MutexLock lock(mutex_);
  return !breaker_.lets(now);
}

TokenEstimate Pool::estimate() const {
  const MutexLock lock(mutex_);
  return estimate_;
}

PoolView Pool::view(Moment now) const {
  const MutexLock lock(mutex_);
  Quota quota = quota_;
  quota.advance(now);
  PoolView view{.name = name_,
                .blocked_for = std::max(quota.blocked_until - now, 0.0),
                .waiting = static_cast<int>(line_.size()),
                .running = static_cast<int>(running_.size()),
                .breaker = breaker_.state(now),
                .failures = breaker_.failures};
  for (const Window& window : quota.windows) {
    view.windows.push_back({.name = window.name,
                            .resource = window.resource,
                            .limit = window.limit,
                            .length = window.length,
                            .remaining = std::max(window.level(now), 0.0),
                            .resets_in = window.resets - now,
                            .refills = window.refills});
  }
  if (decision_) view.decision = PoolDecision{*decision_, now - decided_};
  if (breaker_.open_until) view.probe_in = std::max(*breaker_.open_until - now, 0.0);
  std::optional<Delay> obstacle = quota.delay(line_cost_, estimate_.cost_of(0), now);
  if (view.probe_in > (obstacle ? obstacle->wait : 0)) {
    obstacle = Delay{.obstacle = Obstacle::breaker, .wait = view.probe_in};
  }
  const auto others = [&](Obstacle why) { obstacle = Delay{.obstacle = why, .wait = kSoon}; };
  if (!obstacle && max_concurrent_ > 0 && view.running >= max_concurrent_) {
    others(Obstacle::concurrency);
  } else if (!obstacle && trust_ > 0 && view.running >= trust_) {
    others(Obstacle::warm_up);
  } else if (!obstacle && view.waiting > 0) {
    others(Obstacle::line);
  }
  if (obstacle) {
    view.next_free_in = obstacle->wait;
    view.obstacle = name_of(obstacle->obstacle);
  }
  return view;
}

std::string Pool::save(Moment now, double unix_now) {
  const MutexLock lock(mutex_);
  has_news_ = false;
  return encode_state({quota_.windows, quota_.blocked_until, breaker_, estimate_}, now, unix_now);
}

bool Pool::restore(std::string_view state, Moment now, double unix_now) {
  auto decoded = decode_state(state, now, unix_now);
  if (!decoded) return false;
  const MutexLock lock(mutex_);
  quota_.windows = std::move(decoded->windows);
  quota_.blocked_until = decoded->blocked_until;
  breaker_ = decoded->breaker;
  estimate_ = decoded->estimate;
  if (!quota_.windows.empty()) trust_ = 0;
  return true;
}

bool Pool::has_news() const {
  const MutexLock lock(mutex_);
  return has_news_;
}

void Pool::keep_news() {
  const MutexLock lock(mutex_);
  has_news_ = true;
}

// The first of those who do not wait for a limit of their own that still holds.
void Pool::notify_first() const {
  for (const auto& [place, waiting] : line_) {
    if (is_bound(waiting)) continue;
    if (waiting.waker) waiting.waker->notify();
    return;
  }
}

void Pool::notify_all() const {
  for (const auto& [place, waiting] : line_) {
    if (waiting.waker) waiting.waker->notify();
  }
  for (const auto& [place, waker] : dozing_) waker->notify();
}

}  // namespace treaty::dispatch
