// Watches directories and has the requests that appear there answered, until it is told to leave.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/bridge/directory_watch.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/watching.h"
#include "treaty/cli/bridge/answer_pool.h"
#include "treaty/cli/shared/signals.h"

namespace treaty::cli {

struct WatchOptions {
  std::size_t parallel = 64;              // Requests at once,
  std::chrono::seconds grace{30};         // and how long they may go on when it is told to leave.
  bool json = false;                      // How answers are told on stdout.
  std::chrono::milliseconds rest{2'000};  // How long the rest of half a file is waited for.
};

class RequestWatcher {
 public:
  // The drivers' directories are in the watch.
  RequestWatcher(std::vector<bridge::Driver> drivers, bridge::DirectoryWatch watch,
                 AnswerPool::Work answer, Signals& signals, WatchOptions options);

  // Answers the exit code.
  int run();

 private:
  using Clock = std::chrono::steady_clock;
  using Place = std::pair<std::string, std::string>;  // A directory and a suffix.

  struct Watched {
    std::shared_ptr<bridge::Driver> driver;
    bridge::RequestsSeen seen;
  };
  struct Retry {
    int attempts = 0;
    std::string told{};
  };

  void look_everywhere();
  void look_into(const std::string& directory);
  void look(const Place& place, bool again = false);
  void act(Watched& watched, bridge::Exchange exchange, bool again);
  void ask(Watched& watched, bridge::Exchange exchange,
           std::optional<bridge::AskedRequest> earlier);
  void refuse(Watched& watched, const bridge::Exchange& exchange, const bridge::Refuse& refusal);
  void note(Watched& watched, std::string event, json::ObjectText details);

  void take_news();
  void forget(const std::string& directory);
  void take_finished();
  bool settle(Watched& watched, const AnswerJob& job, const AnswerOutcome& reply);
  void postpone(const Place& place, std::string_view failure);
  void look_at_due();
  int milliseconds_to_wait() const;

  void begin_to_leave(int signal);
  bool is_over() const;

  Signals& signals_;
  WatchOptions options_;
  bridge::DirectoryWatch watch_;
  std::map<std::string, Watched> directories_{};
  std::map<Place, Clock::time_point> due_{};  // What is to be looked at again, and when.
  std::map<Place, Retry> retries_{};
  bool is_leaving_ = false;
  Clock::time_point grace_end_{};
  AnswerPool pool_;  // The last, so that it ends before what it uses.
};

}  // namespace treaty::cli
