#include "treaty/base/offload_pool.h"

#include <deque>
#include <system_error>
#include <thread>
#include <vector>

#include "treaty/base/mutex.h"

namespace treaty {

// Shared with the threads, which may outlive the pool.
class OffloadPool::Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(Options options) : options_(options) {}

  bool add(std::move_only_function<void()> work) {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= options_.most_waiting) return false;
    if (waiting_.size() >= idle_ && threads_.size() < options_.threads && !start_thread() &&
        threads_.empty()) {
      return false;
    }
    waiting_.push_back(std::move(work));
    changed_.notify_one();
    return true;
  }

  void close() {
    std::deque<std::move_only_function<void()>> dropped;
    std::vector<std::thread> threads;
    {
      const MutexLock lock(mutex_);
      is_closed_ = true;
      threads.swap(threads_);
      if (options_.at_end == AtEnd::abandon) dropped.swap(waiting_);
    }
    changed_.notify_all();
    for (std::thread& thread : threads) {
      if (options_.at_end == AtEnd::abandon) {
        thread.detach();
      } else {
        thread.join();
      }
    }
  }

 private:
  bool start_thread() TREATY_REQUIRES(mutex_) {
    try {
      threads_.emplace_back([self = shared_from_this()] { self->serve(); });
      return true;
    } catch (const std::system_error&) {
      return false;  // The system has no more threads.
    }
  }

  void serve() {
    MutexLock lock(mutex_);
    while (true) {
      ++idle_;
      while (waiting_.empty() && !is_closed_) changed_.wait(lock);
      --idle_;
      if (waiting_.empty()) return;
      auto work = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      work();
      work = nullptr;
      lock.lock();
    }
  }

  const Options options_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::move_only_function<void()>> waiting_ TREATY_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ TREATY_GUARDED_BY(mutex_);
  std::size_t idle_ TREATY_GUARDED_BY(mutex_) = 0;
  bool is_closed_ TREATY_GUARDED_BY(mutex_) = false;
};

OffloadPool::OffloadPool(Options options) : queue_(std::make_shared<Queue>(options)) {}

OffloadPool::~OffloadPool() { queue_->close(); }

bool OffloadPool::post(std::move_only_function<void()> work) {
  return queue_->add(std::move(work));
}

}  // namespace treaty
