#include "treaty/cli/bridge/answer_pool.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace treaty::cli {
namespace {

// Sent to one thread, whose Signals then has it: what the job waits for is cancelled just as by
// Ctrl-C. One that nobody else sends.
int cancel_signal() { return SIGRTMIN + 3; }

AnswerOutcome cancelled() { return {.signal = cancel_signal()}; }

AnswerOutcome out_of_threads(const std::system_error& error) {
  return {.exit_code = kTryLater, .failure = std::string("no thread can be had: ") + error.what()};
}

}  // namespace

AnswerPool::AnswerPool(std::size_t most_threads, Work work)
    : most_threads_(most_threads),
      work_(std::move(work)),
      finished_event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

AnswerPool::~AnswerPool() {
  cancel_all();
  std::list<Worker> ending;  // Each thread keeps the address of its worker.
  {
    const MutexLock lock(mutex_);
    is_closing_ = true;
    ending.swap(workers_);
  }
  changed_.notify_all();
  for (Worker& worker : ending) worker.thread.join();
}

void AnswerPool::add(AnswerJob job) {
  ++unfinished_;
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(job));
  if (waiting_.size() > idle_ && workers_.size() < most_threads_ && !start_worker() &&
      workers_.empty()) {
    AnswerJob unlucky = std::move(waiting_.back());
    waiting_.pop_back();
    finish(std::move(unlucky), {.exit_code = kTryLater, .failure = "no thread can be had"});
    return;
  }
  changed_.notify_one();
}

bool AnswerPool::start_worker() {
  Worker& worker = workers_.emplace_back();
  try {
    worker.thread = std::thread([this, &worker] { serve(worker); });
  } catch (const std::system_error&) {
    workers_.pop_back();
    return false;
  }
  worker.handle = worker.thread.native_handle();
  return true;
}

void AnswerPool::serve(Worker& worker) {
  // Blocked as long as the thread lives: a cancellation that comes too late for its job must
  // neither end the process nor the next job.
  Signals blocked{cancel_signal()};
  MutexLock lock(mutex_);
  for (;;) {
    ++idle_;
    while (!is_closing_ && waiting_.empty()) changed_.wait(lock);
    --idle_;
    if (waiting_.empty()) return;
    AnswerJob job = std::move(waiting_.front());
    waiting_.pop_front();
    worker.is_cancelled = false;
    worker.job = &job;
    lock.unlock();
    AnswerOutcome reply = answer(job);
    lock.lock();
    worker.job = nullptr;  // From here on nobody interrupts it; what came late is taken away.
    while (blocked.take()) {
    }
    finish(std::move(job), std::move(reply));
  }
}

AnswerOutcome AnswerPool::answer(const AnswerJob& job) const {
  Signals signals{cancel_signal()};
  try {
    return work_(job, signals);
  } catch (const std::system_error& error) {
    return out_of_threads(error);
  }
}

void AnswerPool::finish(AnswerJob job, AnswerOutcome reply) {
  finished_.push_back({std::move(job), std::move(reply)});
  constexpr std::uint64_t kOne = 1;
  [[maybe_unused]] const auto written = ::write(finished_event_.get(), &kOne, sizeof(kOne));
}

void AnswerPool::interrupt(Worker& worker) {
  if (std::exchange(worker.is_cancelled, true)) return;
  pthread_kill(worker.handle, cancel_signal());
}

void AnswerPool::cancel(const std::function<bool(const AnswerJob&)>& is_meant) {
  const MutexLock lock(mutex_);
  for (Worker& worker : workers_) {
    if (worker.job != nullptr && is_meant(*worker.job)) interrupt(worker);
  }
  std::deque<AnswerJob> kept;
  for (AnswerJob& job : waiting_) {
    if (is_meant(job)) {
      finish(std::move(job), cancelled());
    } else {
      kept.push_back(std::move(job));
    }
  }
  waiting_ = std::move(kept);
}

void AnswerPool::cancel_waiting() {
  const MutexLock lock(mutex_);
  for (AnswerJob& job : waiting_) finish(std::move(job), cancelled());
  waiting_.clear();
}

void AnswerPool::cancel_all() {
  cancel([](const AnswerJob&) { return true; });
}

std::vector<FinishedJob> AnswerPool::take_finished() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const auto got = read(finished_event_.get(), &ignored, sizeof(ignored));
  const MutexLock lock(mutex_);
  unfinished_ -= finished_.size();
  return std::exchange(finished_, {});
}

}  // namespace treaty::cli
