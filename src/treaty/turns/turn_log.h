// What one round of a turn says to those who follow it: started, deltas, one result. Written by the
// turn's coroutine while it runs, or made whole from the journal; read from any thread.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "treaty/base/mutex.h"
#include "treaty/base/notifier.h"
#include "treaty/contracts/inspection/names.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/store/records.h"
#include "treaty/turns/renderer.h"

namespace treaty::turns {

// The answer to a round: the bytes as they were written first, and what they were made of.
struct Outcome {
  std::string body{};
  contracts::Dialect dialect = contracts::Dialect::pascal;
  const Renderer* renderer = nullptr;         // Whose bytes they are.
  std::string error_code{};                   // Empty: successful.
  std::optional<double> retry_after{};        // Seconds.
  std::vector<dispatch::LimitLine> limits{};  // That kept it from being served.
  // What the bytes were made of. Nothing: they are from before rounds were journalled as values.
  std::variant<std::monostate, SettledTurn, Refusal> source{};

  // `body`, if renderer and dialect are those of the client; else the same answer in theirs.
  std::string body_for(const Renderer& wanted, contracts::Dialect wanted_dialect) const;
};

Outcome outcome_of(Refusal refusal, const Renderer& renderer, contracts::Dialect dialect);

struct Opening {
  std::string session_id{};
  std::string turn_id{};
  std::string mode{};
  int round = 0;
};

struct Delta {
  std::string text;
};

struct StreamEvent {
  std::int64_t id = 0;
  std::variant<Opening, Delta, std::shared_ptr<const Outcome>> what;
  std::int64_t index = 0;  // Deltas of the turn before it, those of earlier rounds included.
};

class TurnLog {
 public:
  // --- Written by the turn.

  // The log belongs to a run from now on: a request that waits with it leaves the answer to it.
  void assign() { is_assigned_ = true; }
  bool is_assigned() const { return is_assigned_; }

  // Adds the event `turn.started`, with the id `first_event`.
  void open(Opening opening, std::int64_t first_event);
  void add(std::string_view delta);
  void show_deltas();                                   // Until then nobody sees them.
  void finish(std::shared_ptr<const Outcome> outcome);  // Once; everything is visible then.
  void finish(Outcome outcome) { finish(std::make_shared<const Outcome>(std::move(outcome))); }

  std::string text() const;  // Of all deltas, shown or not.

  // Deltas as the journal keeps them, and back.
  std::string deltas() const;
  void restore_deltas(std::string_view journalled);
  static std::size_t count_deltas(std::string_view journalled);

  // --- Read by followers.

  // What comes next after the event `last_id`, in order, a part of `most` bytes at a time. When
  // more than `most` are waiting, deltas are joined: a joined one has the id of the last of them.
  std::vector<StreamEvent> after(std::int64_t last_id, std::size_t most = kMostUnsent) const;
  static constexpr std::size_t kMostUnsent = std::size_t{1} << 20U;
  static constexpr std::size_t kPieces = 16;  // What is waiting is handed out in parts.

  // True when there may be something after `last_id` or the round has ended, false when `patience`
  // ran out. With a `last_id` that no event reaches: waits for the end.
  boost::asio::awaitable<bool> wait(std::int64_t last_id, std::chrono::milliseconds patience);

  // The answer, as soon as there is one.
  boost::asio::awaitable<std::shared_ptr<const Outcome>> outcome();

  // Somebody who waits for the answer, until leave() or the end of this value.
  class Following {
   public:
    explicit Following(TurnLog& log) : log_(&log) { ++log.followers_; }
    ~Following() { leave(); }
    Following(const Following&) = delete;
    Following& operator=(const Following&) = delete;

    // How many others there are.
    int leave() { return log_ == nullptr ? 0 : --std::exchange(log_, nullptr)->followers_; }

   private:
    TurnLog* log_;
  };

  std::optional<Opening> opening() const;
  std::shared_ptr<const Outcome> outcome_now() const;  // Null while it runs.
  std::int64_t first_event() const;
  std::int64_t result_event() const;  // The id that the result has, or would have now.

 private:
  std::int64_t last_visible() const TREATY_REQUIRES(mutex_);
  std::int64_t index_of(std::int64_t id) const TREATY_REQUIRES(mutex_);
  void add_deltas(std::int64_t last_id, std::size_t most, std::vector<StreamEvent>& events) const
      TREATY_REQUIRES(mutex_);

  std::atomic<int> followers_ = 0;
  std::atomic<bool> is_assigned_ = false;
  mutable Mutex mutex_;
  Notifier changed_;
  std::optional<Opening> opening_ TREATY_GUARDED_BY(mutex_){};
  std::int64_t first_event_ TREATY_GUARDED_BY(mutex_) = 1;
  std::string text_ TREATY_GUARDED_BY(mutex_){};
  std::vector<std::size_t> ends_ TREATY_GUARDED_BY(mutex_){};  // Of each delta in text_.
  bool shows_deltas_ TREATY_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Outcome> outcome_ TREATY_GUARDED_BY(mutex_){};
};

// Fills a log with a round that has been answered. `renderer` is that of the journalled bytes.
void restore(TurnLog& log, const std::string& session_id, const store::Turn& turn,
             const store::AnswerRecord& answer, const Renderer& renderer);

}  // namespace treaty::turns
