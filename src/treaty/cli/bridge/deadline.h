// Does something when time is up, and again until it is heard.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace treaty::cli {

class Deadline {
 public:
  // `on_expiry` runs on a thread of its own; what it ends may not have begun yet, so it is called
  // again and again as long as this lives.
  Deadline(std::chrono::milliseconds time, std::function<void()> on_expiry)
      : thread_([this, time, act = std::move(on_expiry)](const std::stop_token& stop) {
          auto pause = time;
          while (!wait(stop, pause)) {
            has_expired_ = true;
            act();
            pause = kAgain;
          }
        }) {}

  bool has_expired() const { return has_expired_; }

 private:
  static constexpr std::chrono::milliseconds kAgain{200};

  // True when it is not wanted any more.
  bool wait(const std::stop_token& stop, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, time, [] { return false; });
    return stop.stop_requested();
  }

  std::mutex mutex_{};
  std::condition_variable_any changed_{};
  std::atomic<bool> has_expired_ = false;
  std::jthread thread_;
};

}  // namespace treaty::cli
