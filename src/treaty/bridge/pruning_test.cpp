#include "treaty/bridge/pruning.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "treaty/base/timestamp.h"
#include "treaty/bridge/run_state.h"

namespace treaty::bridge {
namespace {

using Entries = std::vector<Entry>;

const double kNow = seconds_of_timestamp("2026-06-01T00:00:00Z").value_or(0);
constexpr const char* kLongAgo = "2026-01-01T00:00:00Z";
constexpr const char* kLately = "2026-05-31T00:00:00Z";

Entry old(std::string event, json::ObjectText details = {}) {
  return {kLongAgo, std::move(event), std::move(details)};
}
Entry fresh(std::string event, json::ObjectText details = {}) {
  return {kLately, std::move(event), std::move(details)};
}
json::ObjectText answer_of(std::string_view id, std::string_view file) {
  return {{"request_id", id}, {"file", file}};
}

// Neither requests nor answers.
StillThere nothing_there() {
  return {.has_file = [](const std::string&) { return false; }};
}

Entries whole_run() {
  return {old("run.started"),
          old("program.started", {{"resume", false}}),
          old("program.exited", {{"code", 42}}),
          old("request.asked", {{"request_id", "a"}, {"turn_id", "t"}}),
          old("answer.written", answer_of("a", "/d/a")),
          old("program.started", {{"resume", true}}),
          old("program.exited", {{"code", 0}}),
          old("run.ended", {{"final", true}})};
}

}  // namespace

TEST_CASE("what is older than 30 days goes, and what is younger stays") {
  Entries journal = whole_run();
  journal.push_back(fresh("file.quarantined"));

  CHECK(pruned(journal, nothing_there(), kNow) == Entries{fresh("file.quarantined")});
  CHECK(!pruned(Entries{fresh("run.started"), fresh("run.ended")}, nothing_there(), kNow));
  CHECK(!pruned({}, nothing_there(), kNow));
}

TEST_CASE("a journal that is read a little later is not rewritten each time") {
  const Entries journal = {{"2026-05-01T12:00:00Z", "run.ended", {}}};  // 30 days and a half.

  CHECK(!pruned(journal, nothing_there(), kNow));
}

TEST_CASE("a run that can be resumed stays, however old it is") {
  Entries journal = whole_run();
  journal.resize(6);

  const auto kept = pruned(journal, nothing_there(), kNow);

  REQUIRE(kept);
  CHECK(kept->size() == 5);  // All but the question, which is answered.
  CHECK(replay_run(*kept).stage == replay_run(journal).stage);
  CHECK(replay_run(*kept).answered == replay_run(journal).answered);
  CHECK(replay_run(*kept).answers == replay_run(journal).answers);
}

TEST_CASE("a question that is open stays with its ids") {
  const Entries journal = {old("request.asked", {{"request_id", "a"}, {"turn_id", "t1"}}),
                           old("request.asked", {{"request_id", "a"}, {"turn_id", "t2"}}),
                           old("request.asked", {{"request_id", "b"}, {"turn_id", "t3"}}),
                           old("request.given_up", {{"request_id", "b"}})};

  const auto kept = pruned(journal, nothing_there(), kNow);

  REQUIRE(kept);
  CHECK(*kept == Entries{journal[1]});
  CHECK(open_requests(*kept) == open_requests(journal));
}

TEST_CASE("the newest answer to a request, and in a file, that is still there stays") {
  const Entries journal = {
      old("answer.written", answer_of("a", "/d/x")), old("answer.written", answer_of("a", "/d/y")),
      old("answer.written", answer_of("b", "/d/x")), old("answer.written", answer_of("c", "/d/z"))};

  const StillThere request{.request_ids = {"a"},
                           .has_file = [](const std::string&) { return false; }};
  CHECK(pruned(journal, request, kNow) == Entries{journal[1]});

  const StillThere file{.has_file = [](const std::string& path) { return path == "/d/x"; }};
  CHECK(pruned(journal, file, kNow) == Entries{journal[2]});
}

TEST_CASE("of a journal that is too large the oldest entries go, down to half of it") {
  Entries journal;
  for (int i = 0; i < 100; ++i) journal.push_back(fresh("file.quarantined", {{"number", i}}));
  const std::size_t line = encode(journal.back()).size() + 1;
  const KeepingRules rules{.most_bytes = 99 * line, .bytes_after = 50 * line};

  const auto kept = pruned(journal, nothing_there(), kNow, rules);

  REQUIRE(kept);
  CHECK(kept->size() >= 50);
  CHECK(kept->size() <= 51);  // Numbers of one digit are shorter.
  CHECK(kept->back() == journal.back());
}

TEST_CASE("whatever a journal tells, a driver resumes from the rest as from all of it") {
  rc::check([] {
    Entries journal;
    const int size = *rc::gen::inRange(0, 40);
    for (int i = 0; i < size; ++i) {
      const std::string id = *rc::gen::element<std::string>("a", "b", "c");
      const std::string at = *rc::gen::element<std::string>(kLongAgo, kLately, "when");
      const auto event = *rc::gen::element<std::string>(
          "run.started", "program.started", "program.exited", "request.asked", "answer.written",
          "answer.found", "request.given_up", "run.ended", "file.quarantined");
      journal.push_back({at,
                         event,
                         {{"request_id", id},
                          {"turn_id", *rc::gen::element<std::string>("t1", "t2")},
                          {"phase_key", "1"},
                          {"code", *rc::gen::element(0, 42)},
                          {"final", *rc::gen::arbitrary<bool>()}}});
    }
    const KeepingRules rules{.most_bytes = 500, .bytes_after = 100};

    const Entries kept = pruned(journal, nothing_there(), kNow, rules).value_or(journal);

    const RunState before = replay_run(journal);
    const RunState after = replay_run(kept);
    RC_ASSERT(after.stage == before.stage);
    if (before.stage != Stage::none) {
      RC_ASSERT(after.answered == before.answered);
      RC_ASSERT(after.answers == before.answers);
      RC_ASSERT(after.exit_code == before.exit_code);
    }
    RC_ASSERT(open_requests(kept) == open_requests(journal));
  });
}

}  // namespace treaty::bridge
