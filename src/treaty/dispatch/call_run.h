// One call on its way along a chain of backends.
#pragma once

#include <boost/asio/cancellation_state.hpp>
#include <string>
#include <vector>

#include "treaty/dispatch/client_sink.h"
#include "treaty/dispatch/dispatched.h"
#include "treaty/dispatch/dispatcher.h"

namespace treaty::dispatch {

class CallRun {
 public:
  CallRun(Dispatcher& dispatcher, const CallOrder& order, backends::Call call, backends::Sink& sink,
          Observer& observer);

  boost::asio::awaitable<Dispatched> run();

 private:
  // A place in the line of one pool. Leaves it, however the coroutine ends.
  class QueueTicket {
   public:
    explicit QueueTicket(std::shared_ptr<Pool> pool)
        : pool_(std::move(pool)), place_(pool_->join()) {}
    ~QueueTicket();
    QueueTicket(const QueueTicket&) = delete;
    QueueTicket& operator=(const QueueTicket&) = delete;

    std::optional<Delay> ask(double bytes, const Policy& policy, Moment now,
                             const std::shared_ptr<Waker>& waker);
    Breaker::Told tell(double bytes, const contracts::AgentResult& result, const Policy& policy,
                       Moment now);
    void doze(const std::shared_ptr<Waker>& waker) { pool_->doze(place_, waker); }
    Pool& pool() const { return *pool_; }

   private:
    std::shared_ptr<Pool> pool_;
    std::uint64_t place_;
    bool is_running_ = false;
  };

  // What was set aside for an attempt.
  struct SetAside {
    store::Purchase purchase{};
    store::Reservation reservation{};
  };

  template <class T>
  using Waiting = boost::asio::awaitable<T>;

  Waiting<CallDecision> stay_at(const Choice& choice);
  Waiting<CallDecision> stay_at(const Choice& choice, const Source& source, QueueTicket& ticket);
  Waiting<CallDecision> wait_for_backoff(QueueTicket& ticket, int attempts, Moment not_before);
  bool may_go_at_once(QueueTicket& ticket, const Choice& choice);
  Waiting<CallDecision> wait_for_backend(QueueTicket& ticket, const Choice& choice, int attempts);
  Waiting<void> attempt(QueueTicket& ticket, const Choice& choice, const Source& source,
                        int attempts);
  void prepare(const Choice& choice, const Source& source);
  bool continues_answers(const Source& source) const;
  void settle_answer();
  void keep_thoughts(Dispatched& dispatched);
  std::optional<Why> other_way(const Source& source);
  void take_back();
  void limit_output(const SetAside& aside);
  Waiting<std::optional<SetAside>> set_aside(const Choice& choice, const Source& source,
                                             const Pool& pool);
  Waiting<void> settle(const SetAside& aside, store::Amount spent);
  bool is_cancelled();
  Waiting<void> pause(Moment until);

  Situation situation(const Choice& choice, int attempts, std::string_view code);
  std::optional<std::size_t> next_after(std::string_view code) const;
  void fail_unasked(const Delay& delay, const CallDecision& decision);
  void fail_too_late(const Choice& choice, const std::optional<Delay>& told);
  void set_deadline_error();
  void fail_by_budget(const store::Exhausted& exhausted, const store::Purchase& wanted);
  void note(const Choice& choice, const CallDecision& decision);
  void tell_when_to_return(Dispatched& dispatched) const;
  Moment now() const { return dispatcher_.pools().now(); }
  Waiter& waiter();
  std::shared_ptr<Waker> waker() const { return waiter_ ? waiter_->waker() : nullptr; }

  Dispatcher& dispatcher_;
  const CallOrder& order_;
  backends::Call call_;
  const std::optional<backends::Reasoning> reasoning_;  // Of an entry that says none.
  const bool caches_;                                   // Prompts, at entries that allow it.
  double bytes_;                                        // The size of call_.
  ClientSink client_sink_;
  Observer& observer_;
  const std::vector<const Choice*> chain_;
  boost::asio::any_io_executor executor_{};
  boost::asio::cancellation_state cancellation_{};  // Of the coroutine: it changes meanwhile.
  std::optional<Waiter> waiter_{};                  // None until something has to be waited for.

  // The backend that is asked now.
  std::size_t at_ = 0;             // In the chain.
  std::size_t left_at_entry_ = 0;  // ClientSink::left when it was first asked.
  Seconds waited_ = 0;             // For it, in all.
  bool asks_whole_ = false;        // It shall not continue the text that has left, but repeat it.
  bool asks_plain_ = false;        // It does not stream.
  std::optional<AnswerJoin::Form> form_{};  // How its answer continues the text that has left.

  std::vector<std::string_view> asked_pools_{};       // Keys.
  std::optional<backends::Messages> asked_before_{};  // Before a cut: what the first one was asked.
  contracts::AgentResult result_{};                   // The newest.
  bool is_no_continuation_ = false;                   // Of the text that has left.
  std::string refused_author_{};                      // Dispatched::refused_author.
  Totals totals_{};
  std::vector<LimitLine> limits_{};
};

}  // namespace treaty::dispatch
