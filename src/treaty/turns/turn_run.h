// One round of a turn on its way: prompt, backend, step by step, answer, journal, and only then the
// followers. Lives on the event loop of its worker; cancel() and the readers may be called from
// anywhere.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "treaty/backends/backend.h"
#include "treaty/base/mutex.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/dispatch/dispatcher.h"
#include "treaty/store/store.h"
#include "treaty/turns/compose.h"
#include "treaty/turns/decision.h"
#include "treaty/turns/diary.h"
#include "treaty/turns/engine.h"
#include "treaty/turns/history.h"
#include "treaty/turns/running_turns.h"
#include "treaty/turns/turn_log.h"

namespace treaty::turns {

// Memory for the histories of all sessions of a process, pictures included. What is not kept is
// read from the journal again.
constexpr std::size_t kHistoryBytes = std::size_t{32} << 20U;

// What all runs share.
struct RunServices {
  // The renderer of that name; the first one if there is none.
  const Renderer& renderer_of(std::string_view format) const;
  store::Milliseconds now() const { return clock->unix_now(); }

  store::Store& store;
  const std::shared_ptr<Clock> clock;
  const std::vector<const Renderer*> renderers;          // One or more.
  const std::function<void(const std::string&)> report;  // Lines for the operator; may be empty.
  RunningTurns live{};
  HistoryCache histories{kHistoryBytes};
};

// What a run is about. The ids in `begin` are those of the store.
struct RunOrder {
  Begin begin;
  std::shared_ptr<const Settings> settings;          // Those that the decision was made by,
  std::shared_ptr<dispatch::Dispatcher> dispatcher;  // and the backends that belong to them.
  contracts::AgentExecuteRequest request;
  std::string key;  // live_key() of the request.
  bool streams = false;
  const Renderer* renderer = nullptr;
  std::vector<AnswerError> warnings{};
  std::size_t bytes = 0;       // Of the request.
  bool is_unreadable = false;  // The journal's request is no request: the round fails.
};

class TurnRun final : public std::enable_shared_from_this<TurnRun>,
                      private backends::Sink,
                      private dispatch::Observer {
 public:
  TurnRun(std::shared_ptr<RunServices> services, Worker& worker, std::shared_ptr<TurnLog> log,
          RunOrder order);

  // Runs the round until its answer is journalled and told. The coroutine owns the run; others hold
  // it only for a moment.
  static boost::asio::awaitable<void> run(std::shared_ptr<TurnRun> self);

  // The turn ends as soon as its backend lets go.
  void cancel();

  std::int64_t session() const { return order_.begin.session.id; }
  std::int64_t turn() const { return order_.begin.turn.id; }
  // The round calls no backend: it only journals that it has failed.
  bool fails_at_once() const {
    return order_.begin.turn.has_streamed || order_.is_unreadable || order_.begin.agent == nullptr;
  }
  std::shared_ptr<TurnLog> log() const;
  const Diary& diary() const { return diary_; }

 private:
  enum class Stop { none, cancelled, deadline };

  boost::asio::awaitable<Conclusion> conclude();
  boost::asio::awaitable<std::expected<void, Error>> prepare();
  boost::asio::awaitable<std::expected<void, Error>> recall();
  boost::asio::awaitable<dispatch::Dispatched> ask_backend();
  boost::asio::awaitable<void> stream_large();
  boost::asio::awaitable<void> journal(Conclusion conclusion);
  boost::asio::awaitable<void> fail_internally(const std::string& why);
  void report(std::string_view what, std::string_view why) const;
  void report_why(std::string_view what, const dispatch::Why& why) const;
  boost::asio::awaitable<void> settle(const Conclusion& conclusion,
                                      std::shared_ptr<const Outcome> outcome);
  static boost::asio::awaitable<void> mark_streamed(std::shared_ptr<TurnRun> self);
  Outcome outcome_of(Conclusion& conclusion);
  SettledTurn settled_turn(Conclusion& conclusion);
  store::Settlement settlement_of(const Conclusion& conclusion, const Outcome& outcome) const;
  Conclusion stopped(Stop stop) const;
  void tell_store_unavailable();
  void tell_ended_elsewhere();
  void remember(const Conclusion& conclusion);
  void note(std::string_view kind, std::string_view data);
  void begin_next_call(std::string_view said);
  Conclusion finished(Finish finish);
  Conclusion asking(AskClient ask);
  void stream(std::string_view text);
  void stream_rest(std::string& answer);
  std::size_t context_window() const;
  std::vector<store::BudgetLimit> budgets() const;
  void on_text(std::string_view delta) override;
  bool take_back() override;
  bool has_streamed_text() const;
  void on_progress(std::string_view kind, std::string_view data) override;
  void on_pictures_left_out() override { left_out_pictures_ = true; }
  void on_thinking(std::string_view delta) override;
  void show_thinking(bool is_end);
  backends::Thoughts kept_thoughts(backends::Thoughts thoughts);
  void forget_thoughts_of(std::string_view author);
  void forget_thoughts_in_history(std::string_view author);
  void on_attempt_started(const dispatch::Choice& choice, int attempt) override;
  void on_attempt_ended(const dispatch::Choice& choice, int attempt, dispatch::Seconds took,
                        const contracts::AgentResult& result) override;
  void on_waiting(const dispatch::Choice& choice, dispatch::Seconds wait,
                  const dispatch::Why& why) override;
  void on_asked_again(const dispatch::Choice& choice, const dispatch::Why& why) override;
  void on_thoughts_dropped(const dispatch::Choice& choice, const dispatch::Why& why) override;
  void on_switched(const dispatch::Choice& from, const dispatch::Choice& to,
                   const dispatch::Why& why) override;
  void on_breaker(const dispatch::Choice& choice, bool is_open) override;
  void on_given_up(const dispatch::Choice& choice, const dispatch::Why& why) override;
  backends::Call make_call();

  std::shared_ptr<RunServices> services_;
  Worker& worker_;
  mutable Mutex log_mutex_;  // Held to replace the log, and by other threads to read it.
  std::shared_ptr<TurnLog> log_;
  RunOrder order_;
  Diary diary_;

  // Of this turn, its newest request included.
  std::shared_ptr<std::vector<backends::Message>> earlier_rounds_ =
      std::make_shared<std::vector<backends::Message>>();
  Authors refused_earlier_{};                   // Found in earlier rounds of this turn.
  std::vector<std::string> prompt_warnings_{};  // About what the model does not get.
  bool left_out_pictures_ = false;              // By the backend that was asked last.
  std::shared_ptr<const History> history_{};
  Transcript transcript_{};     // Of this round.
  std::string said_{};          // By the model in this round, in the calls before this one.
  bool has_spoken_ = false;     // In this call, to the sink.
  Sealer sealer_{};             // Of all that is said in this round, if it is streamed.
  std::string unsealed_{};      // A large delta and what follows it, until the call has ended.
  std::size_t said_bytes_ = 0;  // By the backends in this round, calls of tools included.
  std::size_t thought_bytes_ = 0;
  std::size_t progress_notes_ = 0;
  std::string thinking_{};                         // That is not in the diary yet,
  store::Milliseconds thinking_shown_ = 0;         // and when some was added to it.
  std::int64_t attempts_ = 0;                      // In this round.
  contracts::AgentResult result_{};                // Of the last call of this round,
  dispatch::Totals totals_{};                      // what all its calls have taken,
  const dispatch::Choice* asked_{};                // which backend it asked last,
  std::optional<std::int64_t> failed_status_{};    // and what the last attempt that failed had for
  std::optional<json::ObjectText> failed_data_{};  // a status and for data of the provider.

  dispatch::Moment deadline_ = 0;
  boost::asio::cancellation_signal stop_signal_{};
  std::atomic<Stop> stop_ = Stop::none;
};

}  // namespace treaty::turns
