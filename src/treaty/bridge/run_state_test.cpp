#include "treaty/bridge/run_state.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

using namespace treaty;
using namespace treaty::bridge;

namespace {

using Entries = std::vector<Entry>;

Entry entry(std::string event, json::ObjectText details = {}) {
  return {"2026-03-01T08:30:00Z", std::move(event), std::move(details)};
}

Entry started(bool resume = false) {
  return entry("program.started",
               {{"pid", 4711}, {"started", "12345"}, {"boot", "b"}, {"resume", resume}});
}
Entry left_with(int code) { return entry("program.exited", {{"code", code}}); }
Entry asked(std::string_view id, std::string_view turn = "t1") {
  return entry(
      "request.asked",
      {{"request_id", id}, {"session_id", "s1"}, {"turn_id", turn}, {"agent", "reviewer"}});
}
Entry answered(std::string_view id, std::string_view phase) {
  return entry("answer.written", {{"request_id", id}, {"phase_key", phase}});
}
Entry ended(bool is_final) { return entry("run.ended", {{"exit", 75}, {"final", is_final}}); }

std::set<std::string> ids_of(const AnsweredQuestions& answered) {
  std::set<std::string> ids;
  for (const auto& [id, question] : answered) ids.insert(id);
  return ids;
}

// Two phases, from the first start to the end.
Entries whole_run() {
  return {entry("run.started", {{"command", std::vector<std::string>{"./program", "--all"}}}),
          started(),
          left_with(42),
          asked("one"),
          answered("one", "1"),
          started(true),
          left_with(42),
          asked("two"),
          answered("two", "2"),
          started(true),
          left_with(3),
          ended(true)};
}

Exchange exchange(std::string suffix, std::optional<std::int64_t> phase,
                  std::optional<std::string> name) {
  Exchange one{.suffix = std::move(suffix)};
  one.request.state = FileState::whole;
  one.request.document = contracts::BridgeRequest{.request_id = "i",
                                                  .version = "1.0",
                                                  .agent_name = "a",
                                                  .prompt = "p",
                                                  .created_at = "2026-03-01T08:30:00Z",
                                                  .phase = phase,
                                                  .phase_name = std::move(name)};
  return one;
}

Entry any_entry() {
  const std::string id = *rc::gen::element<std::string>("one", "two", "three");
  switch (*rc::gen::inRange(0, 8)) {
    case 0: return entry("run.started", {{"command", std::vector<std::string>{"./program"}}});
    case 1: return started(*rc::gen::arbitrary<bool>());
    case 2: return left_with(*rc::gen::element(0, 3, 42));
    case 3: return entry("program.exited", {{"signal", 9}});
    case 4: return asked(id);
    case 5: return answered(id, *rc::gen::element<std::string>("1", "2"));
    case 6: return entry("request.given_up", {{"request_id", id}});
    default: return ended(*rc::gen::arbitrary<bool>());
  }
}

}  // namespace

TEST_CASE("wherever a journal ends, the run is known as it was then") {
  using enum Stage;
  const std::vector<Stage> stages = {none,  none,  started, needs,   needs, needs, started,
                                     needs, needs, needs,   started, over,  none};
  const std::vector<std::size_t> answers = {0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0};
  const Entries journal = whole_run();
  REQUIRE(stages.size() == journal.size() + 1);
  for (std::size_t size = 0; size <= journal.size(); ++size) {
    CAPTURE(size);

    const RunState run = replay_run(std::span(journal).first(size));

    CHECK(run.stage == stages[size]);
    CHECK(run.answered.size() == answers[size]);
    CHECK(run.program.has_value() == (stages[size] == Stage::started));
    if (run.stage != none) CHECK(run.command == std::vector<std::string>{"./program", "--all"});
    if (run.stage == over) CHECK(run.exit_code == 3);
  }
  CHECK(!replay_run(std::span(journal).first(2)).resumed);
  CHECK(replay_run(std::span(journal).first(6)).resumed);
}

TEST_CASE("a program that was killed can be started again as it was") {
  const Entries journal = {
      entry("run.started", {{"command", std::vector<std::string>{"./program"}}}), started(true),
      entry("program.exited", {{"signal", 9}})};

  const RunState run = replay_run(journal);

  CHECK(run.stage == Stage::started);
  CHECK(run.resumed);
  CHECK(!run.program);
}

TEST_CASE("a run that was stopped goes on with its answers known and its counts at zero") {
  Entries journal = whole_run();
  journal.resize(9);
  journal.push_back(ended(false));

  const RunState run = replay_run(journal);

  CHECK(run.stage == Stage::needs);
  CHECK(run.answers.empty());
  CHECK(ids_of(run.answered) == std::set<std::string>{"one", "two"});
}

TEST_CASE("a run that begins knows nothing of the one before") {
  Entries journal = whole_run();
  journal.resize(9);
  journal.push_back(entry("run.started", {{"command", std::vector<std::string>{"./other"}}}));

  const RunState run = replay_run(journal);

  CHECK(run.stage == Stage::none);
  CHECK(run.command == std::vector<std::string>{"./other"});
  CHECK(run.answered.empty());
  CHECK(ids_of(answered_requests(journal)) == std::set<std::string>{"one", "two"});
}

TEST_CASE("answers are counted by their phases, found ones, too") {
  const Entries journal = {answered("a", "1"), answered("b", "1"), answered("c", "2"),
                           entry("answer.found", {{"request_id", "d"}, {"phase_key", "2"}})};

  const RunState run = replay_run(journal);

  CHECK(run.answers == std::map<std::string, int>{{"1", 2}, {"2", 2}});
  CHECK(ids_of(run.answered) == std::set<std::string>{"a", "b", "c", "d"});
}

TEST_CASE("a question is open until it is answered or given up, and the last try counts") {
  Entries journal = {asked("one", "first"), asked("two"), asked("three"), asked("one", "second")};
  CHECK(open_requests(journal).size() == 3);

  journal.push_back(answered("two", "1"));
  journal.push_back(entry("request.given_up", {{"request_id", "three"}}));

  const auto open = open_requests(journal);
  REQUIRE(open.size() == 1);
  CHECK(open.at("one") == AskedRequest{.request_id = "one",
                                       .session_id = "s1",
                                       .turn_id = "second",
                                       .agent = "reviewer",
                                       .at = "2026-03-01T08:30:00Z"});
}

TEST_CASE("whatever a journal tells, what is answered is not open, unless it was asked again") {
  CHECK(rc::check([] {
    Entries journal;
    const int size = *rc::gen::inRange(0, 40);
    for (int i = 0; i < size; ++i) journal.push_back(any_entry());
    const auto open = open_requests(journal);
    const auto all = answered_requests(journal);

    for (const auto& [id, question] : open) {
      const auto of_this = [&](const Entry& one) {
        return one.details.find_text("request_id") == id;
      };
      const auto last = std::find_if(journal.rbegin(), journal.rend(), of_this);
      RC_ASSERT(last->event == "request.asked");
    }
    for (const std::string& id : ids_of(replay_run(journal).answered)) RC_ASSERT(all.contains(id));
  }));
}

TEST_CASE("lines that nobody of us wrote do no harm") {
  const Entries journal = {
      entry("run.started", {{"command", "no list"}}), entry("program.started", {{"pid", "4711"}}),
      entry("program.exited", {{"code", "42"}}),      entry("request.asked"),
      entry("answer.written", {{"request_id", 7}}),   entry("run.ended", {{"final", "yes"}}),
      entry("something.else", {{"request_id", "x"}}),
  };

  const RunState run = replay_run(journal);

  CHECK(run.stage == Stage::started);
  CHECK(!run.program);
  CHECK(run.command.empty());
}

TEST_CASE("a program counts as known only with a number that there can be, and its start") {
  for (const json::ObjectText& details :
       {json::ObjectText{{"pid", 4294967297}, {"started", "1"}},
        json::ObjectText{{"pid", -1}, {"started", "1"}},
        json::ObjectText{{"pid", 0}, {"started", "1"}}, json::ObjectText{{"pid", 1}},
        json::ObjectText{{"pid", 1}, {"started", ""}, {"boot", ""}}}) {
    CAPTURE(details.text());
    CHECK(!replay_run(Entries{entry("program.started", details)}).program);
  }
  CHECK(replay_run(Entries{started()}).program == Process{4711, "12345", "b"});
}

TEST_CASE("answers are counted by the phase's number, else its file's, else its name") {
  CHECK(phase_key(exchange("-phase2", 7, "review")) == "7");
  CHECK(phase_key(exchange("-phase2", std::nullopt, "review")) == "2");
  CHECK(phase_key(exchange("", std::nullopt, "review")) == "review");
  CHECK(phase_key(exchange("", std::nullopt, std::nullopt)) == "");
  CHECK(phase_key(Exchange{.suffix = "-phase02"}) == "2");
}

namespace {

using Exchanges = std::vector<Exchange>;

Exchange with_id(std::string id, std::int64_t phase = 1, AnswerState answer = AnswerState::none) {
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

RunState having_answered(const std::set<std::string>& ids, std::map<std::string, int> counts = {}) {
  RunState run{.stage = Stage::needs, .answers = std::move(counts)};
  for (const std::string& id : ids) run.answered[id] = {};
  return run;
}

Next next(const Exchanges& exchanges, const RunState& run = {}, int most = 5) {
  return after_need(exchanges, run, most);
}

Exchange any_exchange() {
  if (*rc::gen::inRange(0, 4) == 0) {
    return with_request(*rc::gen::element(FileState::absent, FileState::unreadable, FileState::torn,
                                          FileState::broken));
  }
  return with_id(*rc::gen::element<std::string>("a", "b", "c", "d", "e"), *rc::gen::inRange(1, 4),
                 *rc::gen::element(AnswerState::none, AnswerState::unreadable, AnswerState::torn,
                                   AnswerState::broken, AnswerState::foreign, AnswerState::stale,
                                   AnswerState::answered));
}

RunState any_run() {
  RunState run{.stage = Stage::needs};
  for (const std::string id : {"a", "b", "c", "d", "e"}) {
    if (*rc::gen::arbitrary<bool>()) run.answered[id] = {};
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
  CHECK(next({with_id("a"), with_id("b", 2, AnswerState::answered), with_id("c", 3)}) ==
        Next(AnswerRequests{{0, 2}}));
  for (const AnswerState state : {AnswerState::none, AnswerState::unreadable, AnswerState::torn,
                                  AnswerState::broken, AnswerState::foreign, AnswerState::stale}) {
    CHECK(next({with_id("a", 1, state)}) == Next(AnswerRequests{{0}}));
  }
}

TEST_CASE("what somebody else has answered is taken") {
  CHECK(next({with_id("a", 1, AnswerState::answered)}) == Next(Resume{{0}}));
}

TEST_CASE("a request that cannot be read is told, unless another one waits") {
  for (const FileState state : {FileState::torn, FileState::broken, FileState::unreadable}) {
    CHECK(next({with_request(state)}) == Next(Stop{DriveFault::broken_request, 0}));
    CHECK(next({with_request(state), with_id("a")}) == Next(AnswerRequests{{1}}));
  }
}

TEST_CASE("the same request twice is a fault, whether or not its answer is still there") {
  for (const AnswerState state : {AnswerState::answered, AnswerState::none}) {
    CHECK(next({with_id("a", 1, state)}, having_answered({"a"})) ==
          Next(Stop{DriveFault::same_request, 0}));
  }
  CHECK(next({with_id("a", 1, AnswerState::answered), with_id("b", 2)}, having_answered({"a"})) ==
        Next(AnswerRequests{{1}}));
}

TEST_CASE("requests are counted for each phase") {
  const RunState run = having_answered({}, {{"1", 5}, {"2", 4}});

  CHECK(next({with_id("a", 1)}, run) == Next(Stop{DriveFault::too_many_resumes, 0}));
  CHECK(next({with_id("a", 2)}, run) == Next(AnswerRequests{{0}}));
  CHECK(next({with_id("a", 3)}, run) == Next(AnswerRequests{{0}}));
  CHECK(next({with_id("a", 1)}, run, 6) == Next(AnswerRequests{{0}}));
}

TEST_CASE("another question under the same id that was created later is answered") {
  Exchange first = with_id("a");
  RunState run;
  run.answered["a"] = {.question = question_of(first), .at = "2026-03-01T08:30:02Z"};
  Exchange second = with_id("a");
  second.request.document->prompt = "And now?";

  CHECK(next({first}, run) == Next(Stop{DriveFault::same_request, 0}));
  CHECK(next({second}, run) == Next(Stop{DriveFault::same_request, 0}));  // As old as the first.
  second.request.document->created_at = "2026-03-01T08:30:01Z";
  CHECK(next({second}, run) == Next(AnswerRequests{{0}}));
  first.request.document->created_at = "2026-03-01T08:30:01Z";  // The same, written again.
  CHECK(next({first}, run) == Next(Stop{DriveFault::same_request, 0}));
}

TEST_CASE(
    "whatever lies there, what was answered is never asked again, and nothing beyond bounds") {
  CHECK(rc::check([] {
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
  }));
}

TEST_CASE("a program that asks something new makes every run end: phases and counts are finite") {
  CHECK(rc::check([] {
    RunState run;
    int rounds = 0;
    const auto phases = *rc::gen::inRange<std::int64_t>(1, 4);
    while (rounds < 1000) {
      const Exchanges there = {
          with_id(std::to_string(rounds), *rc::gen::inRange<std::int64_t>(0, phases))};
      const Next step = after_need(there, run, 5);
      if (std::holds_alternative<Stop>(step)) break;
      ++run.answers[phase_key(there.front())];
      run.answered[there.front().request.document->request_id] = {};
      ++rounds;
    }
    RC_ASSERT(rounds <= 5 * phases);
  }));
}
