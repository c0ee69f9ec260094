#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "treaty/bridge/run_state.h"

using namespace treaty;
using namespace treaty::bridge;

namespace {

using Exchanges = std::vector<Exchange>;

Exchange asked(std::string id, std::int64_t phase = 1, AnswerState answer = AnswerState::none) {
  Exchange one{.answer = answer};
  one.request.state = FileState::whole;
  one.request.document = contracts::BridgeRequest{.request_id = std::move(id),
                                                  .version = "1.0",
                                                  .agent_name = "a",
                                                  .prompt = "p",
                                                  .created_at = "2026-03-01T08:30:00Z",
                                                  .phase = phase};
  return one;
}

Exchange with_request(FileState state) {
  Exchange one;
  one.request.state = state;
  return one;
}

RunState having_answered(std::set<std::string> ids, std::map<std::string, int> counts = {}) {
  return {.stage = Stage::needs, .answers = std::move(counts), .answered = std::move(ids)};
}

Next next(const Exchanges& exchanges, const RunState& run = {}, int most = 5) {
  return after_need(exchanges, run, most);
}

Exchange any_exchange() {
  if (*rc::gen::inRange(0, 4) == 0) {
    return with_request(*rc::gen::element(FileState::absent, FileState::unreadable, FileState::torn,
                                          FileState::broken));
  }
  return asked(*rc::gen::element<std::string>("a", "b", "c", "d", "e"), *rc::gen::inRange(1, 4),
               *rc::gen::element(AnswerState::none, AnswerState::unreadable, AnswerState::torn,
                                 AnswerState::broken, AnswerState::foreign, AnswerState::stale,
                                 AnswerState::answered));
}

RunState any_run() {
  RunState run{.stage = Stage::needs};
  for (const std::string id : {"a", "b", "c", "d", "e"}) {
    if (*rc::gen::arbitrary<bool>()) run.answered.insert(id);
  }
  for (const std::string phase : {"1", "2", "3"}) run.answers[phase] = *rc::gen::inRange(0, 7);
  return run;
}

}  // namespace

TEST_CASE("a program that asked nothing is stopped") {
  CHECK(next({}) == Next(Stop{DriveFault::no_request}));
  CHECK(next({with_request(FileState::absent)}) == Next(Stop{DriveFault::no_request}));
}

TEST_CASE("what waits is answered, in the order of its files") {
  CHECK(next({asked("a"), asked("b", 2, AnswerState::answered), asked("c", 3)}) ==
        Next(AnswerRequests{{0, 2}}));
  for (const AnswerState state : {AnswerState::none, AnswerState::unreadable, AnswerState::torn,
                                  AnswerState::broken, AnswerState::foreign, AnswerState::stale}) {
    CHECK(next({asked("a", 1, state)}) == Next(AnswerRequests{{0}}));
  }
}

TEST_CASE("what somebody else has answered is taken") {
  CHECK(next({asked("a", 1, AnswerState::answered)}) == Next(Resume{{0}}));
}

TEST_CASE("a request that cannot be read is told, unless another one waits") {
  for (const FileState state : {FileState::torn, FileState::broken, FileState::unreadable}) {
    CHECK(next({with_request(state)}) == Next(Stop{DriveFault::broken_request, 0}));
    CHECK(next({with_request(state), asked("a")}) == Next(AnswerRequests{{1}}));
  }
}

TEST_CASE("the same request twice is a fault, whether or not its answer is still there") {
  for (const AnswerState state : {AnswerState::answered, AnswerState::none}) {
    CHECK(next({asked("a", 1, state)}, having_answered({"a"})) ==
          Next(Stop{DriveFault::same_request, 0}));
  }
  CHECK(next({asked("a", 1, AnswerState::answered), asked("b", 2)}, having_answered({"a"})) ==
        Next(AnswerRequests{{1}}));
}

TEST_CASE("requests are counted for each phase") {
  const RunState run = having_answered({}, {{"1", 5}, {"2", 4}});

  CHECK(next({asked("a", 1)}, run) == Next(Stop{DriveFault::too_many_resumes, 0}));
  CHECK(next({asked("a", 2)}, run) == Next(AnswerRequests{{0}}));
  CHECK(next({asked("a", 3)}, run) == Next(AnswerRequests{{0}}));
  CHECK(next({asked("a", 1)}, run, 6) == Next(AnswerRequests{{0}}));
}

TEST_CASE(
    "whatever lies there, what was answered is never asked again, and nothing beyond bounds") {
  rc::check([] {
    Exchanges exchanges;
    const int size = *rc::gen::inRange(0, 6);
    for (int i = 0; i < size; ++i) exchanges.push_back(any_exchange());
    const RunState run = any_run();

    const Next step = after_need(exchanges, run, 5);

    if (const auto* answers = std::get_if<AnswerRequests>(&step)) {
      RC_ASSERT(!answers->waiting.empty());
      RC_ASSERT(std::ranges::is_sorted(answers->waiting));
      for (const std::size_t place : answers->waiting) {
        const Exchange& one = exchanges.at(place);
        RC_ASSERT(one.waits());
        RC_ASSERT(!run.answered.contains(one.request.document->request_id));
        RC_ASSERT(run.answers.at(phase_key(one)) < 5);
      }
    } else if (const auto* resume = std::get_if<Resume>(&step)) {
      RC_ASSERT(!resume->found.empty());
      for (const std::size_t place : resume->found) {
        RC_ASSERT(exchanges.at(place).answer == AnswerState::answered);
      }
    } else if (std::get<Stop>(step).fault != DriveFault::no_request) {
      RC_ASSERT(std::get<Stop>(step).place < exchanges.size());
    }
  });
}

TEST_CASE("a program that asks something new makes every run end: phases and counts are finite") {
  rc::check([] {
    RunState run;
    int rounds = 0;
    const auto phases = *rc::gen::inRange<std::int64_t>(1, 4);
    while (rounds < 1000) {
      const Exchanges there = {
          asked(std::to_string(rounds), *rc::gen::inRange<std::int64_t>(0, phases))};
      const Next step = after_need(there, run, 5);
      if (std::holds_alternative<Stop>(step)) break;
      ++run.answers[phase_key(there.front())];
      run.answered.insert(there.front().request.document->request_id);
      ++rounds;
    }
    RC_ASSERT(rounds <= 5 * phases);
  });
}
