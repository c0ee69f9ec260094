#include "treaty/turns/bell.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace treaty::turns {

namespace asio = boost::asio;

struct Bell::Ticket::State {
  explicit State(const asio::any_io_executor& executor) : timer(executor) {}

  asio::steady_timer timer;  // Touched by its own event loop only.
  std::atomic<bool> rang = false;
};

asio::awaitable<bool> Bell::Ticket::wait(std::chrono::milliseconds patience) {
  // Between this look and the suspension nothing else runs on this loop, and a ring that comes
  // meanwhile cancels the timer from here: none is lost.
  if (!state_->rang) {
    state_->timer.expires_after(patience);
    boost::system::error_code ignored;
    co_await state_->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  co_return state_->rang.load();
}

Bell::Ticket Bell::ticket(const asio::any_io_executor& executor) {
  auto state = std::make_shared<Ticket::State>(executor);
  const std::scoped_lock lock(mutex_);
  if (waiting_.size() == waiting_.capacity()) {  // Those whose patience ran out are gone.
    std::erase_if(waiting_, [](const auto& waiter) { return waiter.expired(); });
  }
  waiting_.push_back(state);
  return Ticket(std::move(state));
}

void Bell::ring() {
  std::vector<std::weak_ptr<Ticket::State>> waiting;
  {
    const std::scoped_lock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const auto& waiter : waiting) {
    auto state = waiter.lock();
    if (!state) continue;
    state->rang = true;
    const auto executor = state->timer.get_executor();
    asio::post(executor, [state = std::move(state)] { state->timer.cancel(); });
  }
}

}  // namespace treaty::turns
