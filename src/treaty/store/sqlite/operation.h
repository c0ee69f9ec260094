// What waits for a thread of the store, and how its answer finds the way back to its event loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "treaty/store/store.h"

namespace treaty::store::sqlite {

// `Context` is what a thread of the store works with. Used by one thread at a time.
template <class Context>
class Operation {
 public:
  virtual ~Operation() = default;
  virtual void run(Context& context) = 0;  // May run more than once; the last time counts.
  virtual void fail(const Error& error) = 0;
  virtual const boost::asio::any_io_executor& executor() const = 0;  // The caller's loop,
  virtual void complete() = 0;  // where this is called, once, at the end: the caller goes on.
};

template <class Context, class T, class Work, class Handler>
class Awaited final : public Operation<Context> {
 public:
  Awaited(Work work, Handler handler)
      : work_(std::move(work)),
        executor_(boost::asio::prefer(boost::asio::get_associated_executor(handler),
                                      boost::asio::execution::outstanding_work.tracked)),
        handler_(std::move(handler)) {}

  void run(Context& context) override { result_ = work_(context); }
  void fail(const Error& error) override { result_ = std::unexpected(error); }
  const boost::asio::any_io_executor& executor() const override { return executor_; }
  void complete() override { std::move(handler_)(std::move(result_)); }

 private:
  Work work_;
  boost::asio::any_io_executor executor_;  // The loop does not run dry while this waits.
  Handler handler_;
  std::expected<T, Error> result_{};
};

// Sends operations that are done back to their loops: one message for each loop, so that it wakes
// once for all of them.
template <class Context>
void complete(std::vector<std::unique_ptr<Operation<Context>>> done) {
  while (!done.empty()) {
    const boost::asio::any_io_executor executor = done.front()->executor();
    std::vector<std::unique_ptr<Operation<Context>>> theirs;
    std::vector<std::unique_ptr<Operation<Context>>> others;
    for (auto& item : done) {
      (item->executor() == executor ? theirs : others).push_back(std::move(item));
    }
    boost::asio::post(executor, [items = std::move(theirs)] {
      for (const auto& item : items) item->complete();
    });
    done = std::move(others);
  }
}

// Has `work(context)` run on a thread of `queue` and answers what it answers.
template <class T, class Queue, class Work>
Task<T> submit(Queue& queue, Work work) {
  using Context = typename Queue::Context;
  co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>&,
                                                 void(std::expected<T, Error>)>(
      [&queue](auto handler, Work moved) {
        using Handler = decltype(handler);
        queue.add(std::make_unique<Awaited<Context, T, Work, Handler>>(std::move(moved),
                                                                       std::move(handler)));
      },
      boost::asio::use_awaitable, std::move(work));
}

}  // namespace treaty::store::sqlite
