// Threads that answer requests, many at once: as many as there is work for, up to a bound.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "treaty/base/mutex.h"
#include "treaty/base/process/file_descriptor.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/run_state.h"
#include "treaty/cli/bridge/ask_agent.h"
#include "treaty/cli/shared/signals.h"

namespace treaty::cli {

// A request, and the right to answer it. No two jobs at a time are about the same file.
struct AnswerJob {
  std::shared_ptr<bridge::Driver> driver;
  bridge::Exchange exchange;
  std::optional<bridge::AskedRequest> earlier{};
};

struct FinishedJob {
  AnswerJob job;
  AnswerOutcome reply;
};

// Threads of its own instead of an OffloadPool: a job is cancelled by a signal to the thread that
// runs it (pthread_kill), and an offload pool does not say which thread that is.
//
// Its functions are for one thread.
class AnswerPool {
 public:
  // Called on threads of the pool. A signal that comes by way of `signals` is a cancellation.
  using Work = std::function<AnswerOutcome(const AnswerJob& job, Signals& signals)>;

  AnswerPool(std::size_t most_threads, Work work);
  ~AnswerPool();  // Cancels what is left, and waits for it.
  AnswerPool(const AnswerPool&) = delete;
  AnswerPool& operator=(const AnswerPool&) = delete;

  void add(AnswerJob job);

  // Each of these ends soon, with AnswerOutcome::signal; what has not begun, at once.
  void cancel(const std::function<bool(const AnswerJob&)>& is_meant);
  void cancel_waiting();
  void cancel_all();

  // Readable when some have finished.
  int descriptor() const { return finished_event_.get(); }
  std::vector<FinishedJob> take_finished();

  // How many were added and not taken yet.
  std::size_t unfinished() const { return unfinished_; }

 private:
  // Its members are behind mutex_, but for the thread, which is joined without it.
  struct Worker {
    std::thread thread{};
    pthread_t handle{};
    bool is_cancelled = false;  // The job at hand was told to end.
    const AnswerJob* job = nullptr;
  };

  bool start_worker() TREATY_REQUIRES(mutex_);
  void serve(Worker& worker);
  AnswerOutcome answer(const AnswerJob& job) const;
  void finish(AnswerJob job, AnswerOutcome reply) TREATY_REQUIRES(mutex_);
  static void interrupt(Worker& worker);

  std::size_t most_threads_;
  Work work_;
  FileDescriptor finished_event_;
  std::size_t unfinished_ = 0;

  Mutex mutex_{};
  ConditionVariable changed_{};
  bool is_closing_ TREATY_GUARDED_BY(mutex_) = false;
  std::size_t idle_ TREATY_GUARDED_BY(mutex_) = 0;
  std::deque<AnswerJob> waiting_ TREATY_GUARDED_BY(mutex_){};
  std::vector<FinishedJob> finished_ TREATY_GUARDED_BY(mutex_){};
  std::list<Worker> workers_ TREATY_GUARDED_BY(mutex_){};
};

}  // namespace treaty::cli
