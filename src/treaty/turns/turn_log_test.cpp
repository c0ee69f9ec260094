#include "treaty/turns/turn_log.h"

#include <doctest/doctest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdint>
#include <thread>

#include "treaty/contracts/invoke_result.h"
#include "treaty/testing/engine_fixture.h"

namespace treaty::turns {
namespace {

namespace asio = boost::asio;
using contracts::Dialect;

// "1:opening 2:Hel 3:lo 4:result", for comparing.
std::string told(const std::vector<StreamEvent>& events) {
  std::string out;
  for (const auto& event : events) {
    out += (out.empty() ? "" : " ") + std::to_string(event.id) + ":";
    if (std::holds_alternative<Opening>(event.what)) out += "opening";
    if (const auto* delta = std::get_if<Delta>(&event.what)) out += delta->text;
    if (std::holds_alternative<std::shared_ptr<const Outcome>>(event.what)) out += "result";
  }
  return out;
}

void fill(TurnLog& log) {
  log.open({"s1", "t1", "General"}, 1);
  log.add("Hel");
  log.add("lo");
  log.show_deltas();
  log.finish({.body = "{}"});
}

TEST_CASE("A log tells its events in order, each with an id that counts up") {
  TurnLog log;
  fill(log);

  CHECK(told(log.after(0)) == "1:opening 2:Hel 3:lo 4:result");
}

TEST_CASE("Deltas are counted over all rounds of a turn, wherever reading begins") {
  TurnLog first;
  fill(first);
  TurnLog second;
  second.open({"s1", "t1", "General", 1}, 5);
  second.add("there");
  second.finish({.body = "{}"});

  const auto indices = [](const std::vector<StreamEvent>& events) {
    std::vector<std::int64_t> found;
    for (const StreamEvent& event : events) found.push_back(event.index);
    return found;
  };
  CHECK(indices(first.after(1)) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(indices(first.after(2)) == std::vector<std::int64_t>{1, 2});
  CHECK(indices(second.after(5)) == std::vector<std::int64_t>{2, 3});
  CHECK(indices(second.after(6)) == std::vector<std::int64_t>{3});
}

TEST_CASE("A log can be read from after every event") {
  TurnLog log;
  fill(log);

  CHECK(told(log.after(1)) == "2:Hel 3:lo 4:result");
  CHECK(told(log.after(2)) == "3:lo 4:result");
  CHECK(told(log.after(3)) == "4:result");
  CHECK(told(log.after(4)).empty());
  CHECK(told(log.after(99)).empty());
}

TEST_CASE("Deltas are seen only when they may be shown, or when the round has ended") {
  TurnLog log;
  log.open({"s1", "t1", "General"}, 5);
  log.add("Hello");
  CHECK(told(log.after(0)) == "5:opening");

  log.show_deltas();
  CHECK(told(log.after(0)) == "5:opening 6:Hello");

  TurnLog ended;
  ended.open({"s1", "t1", "General"}, 5);
  ended.add("Hello");
  ended.finish({.body = "{}"});
  CHECK(told(ended.after(5)) == "6:Hello 7:result");
}

// All that a follower gets who asks for what comes next until there is nothing more.
std::vector<StreamEvent> all_after(const TurnLog& log, std::int64_t last_id, std::size_t most) {
  std::vector<StreamEvent> all;
  for (auto next = log.after(last_id, most); !next.empty(); next = log.after(all.back().id, most)) {
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

TEST_CASE("Beyond the bound waiting deltas are joined under the id of the last of them, in parts") {
  TurnLog log;
  log.open({"s1", "t1", "General"}, 1);
  for (int i = 0; i < 100; ++i) log.add("a");
  log.finish({.body = "{}"});

  CHECK(told(all_after(log, 0, 64)).starts_with("1:opening 5:aaaa 9:aaaa 13:aaaa"));
  CHECK(
      told(all_after(log, 0, 64)).ends_with("100:a 101:a 102:result"));  // The lag is made up for.
  CHECK(all_after(log, 0, 100).size() == 102);
  CHECK(log.after(0, 64).size() == 2);
}

TEST_CASE("A single delta beyond the bound is told as a whole") {
  TurnLog log;
  log.open({"s1", "t1", "General"}, 1);
  log.add(std::string(1'000, 'a'));
  log.add("b");
  log.finish({.body = "{}"});

  const auto events = all_after(log, 0, 64);
  REQUIRE(events.size() == 4);
  CHECK(std::get<Delta>(events[1].what).text.size() == 1'000);
  CHECK(std::get<Delta>(events[2].what).text == "b");
}

TEST_CASE("Deltas come back from the journal as they were") {
  TurnLog log;
  fill(log);
  TurnLog restored;
  restored.open({"s1", "t1", "General"}, 1);
  restored.restore_deltas(log.deltas());
  restored.finish({.body = "{}"});

  CHECK(told(restored.after(0)) == told(log.after(0)));
  CHECK(TurnLog::count_deltas(log.deltas()) == 2);
  CHECK(TurnLog::count_deltas("") == 0);
}

TEST_CASE("A refusal is a log that was never opened") {
  TurnLog log;
  log.finish(
      outcome_of({Reason::turn_in_progress, "wait"}, testing::answer_renderer(), Dialect::pascal));

  CHECK(!log.opening());
  REQUIRE(log.outcome_now());
  CHECK(status_of_code(log.outcome_now()->error_code) == 409);
}

TEST_CASE("An outcome is told in the dialect of whoever asks, and unchanged in its own") {
  const Outcome outcome =
      outcome_of({Reason::not_found, "nothing here"}, testing::answer_renderer(), Dialect::camel);

  CHECK(outcome.body_for(testing::answer_renderer(), Dialect::camel) == outcome.body);
  CHECK(outcome.body.contains("\"errorCode\":\"not_found\""));
  const auto pascal = outcome.body_for(testing::answer_renderer(), Dialect::pascal);
  CHECK(pascal.contains("\"ErrorCode\":\"not_found\""));
  CHECK(contracts::decode_invoke_result(pascal));
}

constexpr std::int64_t kNoEvent = INT64_MAX;  // Only the end of the round is waited for.

TEST_CASE("A wait for the end of a round that has ended is over at once") {
  TurnLog log;
  fill(log);
  asio::io_context loop(1);

  auto waited = asio::co_spawn(loop, log.wait(kNoEvent, std::chrono::hours(1)), asio::use_future);
  loop.poll();

  REQUIRE(waited.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  CHECK(waited.get());
}

// The follower finds no answer, and begins to wait at the moment when another thread has one.
TEST_CASE("An end that comes while a follower on another thread begins to wait is not missed") {
  constexpr int kTimes = 5'000;
  for (int i = 0; i < kTimes; ++i) {
    TurnLog log;
    asio::io_context loop(1);
    auto waited = asio::co_spawn(
        loop,
        [&]() -> asio::awaitable<bool> {
          while (!log.outcome_now()) {
            if (!co_await log.wait(kNoEvent, std::chrono::minutes(1))) co_return false;
          }
          co_return true;
        },
        asio::use_future);
    std::jthread follower([&] { loop.run(); });
    log.finish({.body = "{}"});
    follower.join();
    REQUIRE(waited.get());
  }
}

TEST_CASE("Followers on other threads are woken by what is added and by the end") {
  TurnLog log;
  log.open({"s1", "t1", "General"}, 1);
  log.show_deltas();
  asio::io_context loop(1);
  auto followed = asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<std::string> {
        std::string text;
        std::int64_t last = 1;
        while (true) {
          for (const auto& event : log.after(last)) {
            last = event.id;
            if (const auto* delta = std::get_if<Delta>(&event.what)) text += delta->text;
            if (std::holds_alternative<std::shared_ptr<const Outcome>>(event.what)) co_return text;
          }
          co_await log.wait(last, std::chrono::seconds(60));
        }
      },
      asio::use_future);
  std::jthread follower([&] { loop.run(); });

  std::string expected;
  for (int i = 0; i < 1'000; ++i) {
    log.add(std::to_string(i));
    expected += std::to_string(i);
  }
  log.finish({.body = "{}"});

  CHECK(followed.get() == expected);
}

TEST_CASE("Waiting ends when patience runs out") {
  TurnLog log;
  asio::io_context loop(1);
  auto waited = asio::co_spawn(loop, log.wait(0, std::chrono::milliseconds(1)), asio::use_future);
  loop.run();

  CHECK(!waited.get());
}

}  // namespace
}  // namespace treaty::turns
