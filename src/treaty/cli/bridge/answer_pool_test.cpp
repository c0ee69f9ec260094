#include "treaty/cli/bridge/answer_pool.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <atomic>
#include <latch>
#include <set>
#include <system_error>

namespace treaty::cli {
namespace {

AnswerJob job(const std::string& path) {
  AnswerJob made;
  made.exchange.request.path = path;
  return made;
}

// Of as many as are asked for, in the order in which they ended.
std::vector<FinishedJob> finish(AnswerPool& pool, std::size_t count) {
  std::vector<FinishedJob> all;
  while (all.size() < count) {
    pollfd ready{pool.descriptor(), POLLIN, 0};
    poll(&ready, 1, -1);
    for (FinishedJob& finished : pool.take_finished()) all.push_back(std::move(finished));
  }
  return all;
}

// As a turn waits: until a signal comes.
AnswerOutcome wait_for_signal(Signals& signals) {
  pollfd ready{signals.descriptor(), POLLIN, 0};
  poll(&ready, 1, -1);
  return {.signal = signals.take().value_or(0)};
}

}  // namespace

TEST_CASE("every job is done once") {
  std::atomic<int> done = 0;
  AnswerPool pool(4, [&](const AnswerJob&, Signals&) {
    ++done;
    return AnswerOutcome{};
  });
  std::set<std::string> wanted;
  for (int i = 0; i < 200; ++i) {
    wanted.insert(std::to_string(i));
    pool.add(job(std::to_string(i)));
  }
  CHECK(pool.unfinished() == 200);

  std::set<std::string> got;
  for (const FinishedJob& finished : finish(pool, 200))
    got.insert(finished.job.exchange.request.path);
  CHECK(got == wanted);
  CHECK(done == 200);
  CHECK(pool.unfinished() == 0);
}

TEST_CASE("jobs are done at the same time, as many as are allowed") {
  std::latch together(3);
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  AnswerPool pool(3, [&](const AnswerJob& one, Signals&) {
    most = std::max(most.load(), ++now);
    if (one.exchange.request.path == "first") together.arrive_and_wait();
    --now;
    return AnswerOutcome{};
  });
  for (int i = 0; i < 3; ++i) pool.add(job("first"));
  for (int i = 0; i < 20; ++i) pool.add(job("later"));

  CHECK(finish(pool, 23).size() == 23);
  CHECK(most <= 3);
}

TEST_CASE("a job is cancelled by a signal that reaches it alone") {
  std::latch begun(2);
  std::latch go_on(1);
  AnswerPool pool(2, [&](const AnswerJob& one, Signals& signals) {
    begun.count_down();
    if (one.exchange.request.path == "unwanted") return wait_for_signal(signals);
    go_on.wait();
    return AnswerOutcome{.signal = signals.take().value_or(0)};
  });
  pool.add(job("unwanted"));
  pool.add(job("wanted"));
  begun.wait();
  const auto is_unwanted = [](const AnswerJob& one) {
    return one.exchange.request.path == "unwanted";
  };
  pool.cancel(is_unwanted);
  pool.cancel(is_unwanted);  // Once is enough.

  const auto first = finish(pool, 1);
  CHECK(first[0].job.exchange.request.path == "unwanted");
  CHECK(first[0].reply.signal != 0);
  go_on.count_down();
  CHECK(finish(pool, 1)[0].reply.signal == 0);
}

TEST_CASE("a cancellation that comes too late reaches neither the next job nor the process") {
  std::latch begun(1);
  std::latch cancelled(1);
  AnswerPool pool(1, [&](const AnswerJob& one, Signals& signals) {
    if (one.exchange.request.path != "late")
      return AnswerOutcome{.signal = signals.take().value_or(0)};
    begun.count_down();
    cancelled.wait();
    return AnswerOutcome{};  // It never looks.
  });
  pool.add(job("late"));
  begun.wait();
  pool.cancel([](const AnswerJob&) { return true; });
  SUBCASE("nothing more to do") {
    cancelled.count_down();
    CHECK(finish(pool, 1)[0].reply.signal == 0);
  }
  SUBCASE("another job") {
    pool.add(job("next"));
    cancelled.count_down();
    const auto all = finish(pool, 2);
    CHECK(all[1].job.exchange.request.path == "next");
    CHECK(all[1].reply.signal == 0);
  }
}

TEST_CASE("what has not begun is cancelled at once, and what has goes on") {
  std::latch begun(1);
  std::latch go_on(1);
  AnswerPool pool(1, [&](const AnswerJob&, Signals&) {
    begun.count_down();
    go_on.wait();
    return AnswerOutcome{.failure = "done"};
  });
  pool.add(job("first"));
  begun.wait();
  pool.add(job("second"));
  pool.cancel_waiting();

  const auto second = finish(pool, 1);
  CHECK(second[0].job.exchange.request.path == "second");
  CHECK(second[0].reply.signal != 0);
  go_on.count_down();
  CHECK(finish(pool, 1)[0].reply.failure == "done");
}

TEST_CASE("with the pool everything in it ends") {
  std::latch begun(2);
  {
    AnswerPool pool(2, [&](const AnswerJob&, Signals& signals) {
      begun.count_down();
      return wait_for_signal(signals);
    });
    for (int i = 0; i < 5; ++i) pool.add(job("endless"));
    begun.wait();
  }
  CHECK(begun.try_wait());
}

TEST_CASE("a thread that cannot be had is a failure that may pass") {
  AnswerPool pool(1, [](const AnswerJob&, Signals&) -> AnswerOutcome {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  pool.add(job("a"));

  const auto all = finish(pool, 1);
  CHECK(all[0].reply.exit_code == kTryLater);
  CHECK(all[0].reply.failure.contains("no thread"));
}

}  // namespace treaty::cli
