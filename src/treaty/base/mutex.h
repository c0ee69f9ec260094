// A mutex whose use clang checks under -Wthread-safety: each member says which mutex guards it, and
// touching it without the lock is a warning.
//
//   class Counter {
//    public:
//     void add() { const MutexLock lock(mutex_); ++count_; changed_.notify_all(); }
//     void await(int count) { MutexLock lock(mutex_); while (count_ < count) changed_.wait(lock); }
//    private:
//     Mutex mutex_;
//     ConditionVariable changed_;
//     int count_ TREATY_GUARDED_BY(mutex_) = 0;
//   };
//
// A function that is called with the lock held is declared with TREATY_REQUIRES(mutex_). The
// analysis does not look into lambdas: a predicate is a loop around the wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TREATY_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define TREATY_THREAD_ATTRIBUTE(attribute)
#endif

#define TREATY_GUARDED_BY(mutex) TREATY_THREAD_ATTRIBUTE(guarded_by(mutex))
#define TREATY_REQUIRES(...) TREATY_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))

namespace treaty {

class TREATY_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds the mutex as long as it lives.
class TREATY_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TREATY_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() TREATY_THREAD_ATTRIBUTE(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Around work that needs no lock.
  void unlock() TREATY_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }
  void lock() TREATY_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

// For threads that may block; coroutines use base/notifier.h.
class ConditionVariable {
 public:
  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }

  // False when the time was up.
  bool wait_until(MutexLock& lock, std::chrono::steady_clock::time_point time) {
    return changed_.wait_until(lock.lock_, time) == std::cv_status::no_timeout;
  }

  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace treaty
