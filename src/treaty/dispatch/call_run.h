// One call on its way along a chain of backends.
#pragma once

#include <boost/asio/cancellation_state.hpp>
#include <string>
#include <vector>

#include "treaty/dispatch/dispatched.h"
#include "treaty/dispatch/dispatcher.h"

namespace treaty::dispatch {

class CallRun {
 public:
  CallRun(Dispatcher& dispatcher, const CallOrder& order, backends::Call call, backends::Sink& sink,
          Observer& observer);

  boost::asio::awaitable<Dispatched> run();

 private:
  // Passes text on and remembers what a client has heard.
  class CountingSink final : public backends::Sink {
   public:
    CountingSink(backends::Sink& sink, bool streams, bool keeps)
        : sink_(sink), streams_(streams), keeps_(keeps) {}
    void on_text(std::string_view delta) override;
    void on_progress(std::string_view kind, std::string_view data) override {
      sink_.on_progress(kind, data);
    }
    void on_pictures_left_out() override { sink_.on_pictures_left_out(); }

    std::size_t bytes = 0;  // That came, whoever they were for.
    std::string text{};     // That a client has, if it is kept.
    bool streams() const { return streams_; }

   private:
    backends::Sink& sink_;
    bool streams_;
    bool keeps_;
  };

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
  Waiting<CallDecision> wait_for_backoff(QueueTicket& ticket, int attempts, Moment not_before);
  bool may_go_at_once(QueueTicket& ticket, const Choice& choice);
  Waiting<CallDecision> wait_for_backend(QueueTicket& ticket, const Choice& choice, int attempts);
  Waiting<void> attempt(QueueTicket& ticket, const Choice& choice, const Source& source,
                        int attempts);
  Waiting<std::optional<SetAside>> set_aside(const Choice& choice, const Source& source,
                                             const Pool& pool);
  Waiting<void> settle(const SetAside& aside, store::Amount spent);
  bool is_cancelled();
  Waiting<void> pause(Moment until);

  Situation situation(const Choice& choice, int attempts, std::string_view code);
  std::optional<std::size_t> next_after(std::string_view code) const;
  void fail_unasked(const Delay& delay, const CallDecision& decision);
  void fail_too_late(const Choice& choice, const std::optional<Delay>& told);
  void fail_by_budget(const store::Exhausted& exhausted);
  void begin_continuation();
  void tell_when_to_return(Dispatched& dispatched) const;
  Moment now() const { return dispatcher_.pools().now(); }
  Waiter& waiter();
  std::shared_ptr<Waker> waker() const { return waiter_ ? waiter_->waker() : nullptr; }

  Dispatcher& dispatcher_;
  const CallOrder& order_;
  backends::Call call_;
  const double bytes_;
  CountingSink client_sink_;
  Observer& observer_;
  const std::vector<const Choice*> chain_;
  std::size_t at_ = 0;              // In the chain.
  std::size_t bytes_at_entry_ = 0;  // CountingSink::bytes when this backend was first asked.
  std::string spoken_before_{};     // By backends that were cut,
  std::optional<backends::Messages> asked_before_{};  // and what the first of them was asked.
  boost::asio::any_io_executor executor_{};
  boost::asio::cancellation_state cancellation_{};  // Of the coroutine: it changes meanwhile.
  std::optional<Waiter> waiter_{};                  // None until something has to be waited for.
  contracts::AgentResult result_{};                 // The newest.
  Totals totals_{};
  std::vector<LimitLine> limits_{};
};

}  // namespace treaty::dispatch
