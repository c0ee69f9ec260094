#include "treaty/bridge/watching.h"

#include <doctest/doctest.h>

namespace treaty::bridge {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNoon = 1'767'268'800 * kSecond;  // 2026-01-01T12:00:00Z.
constexpr const char* kAtNoon = "2026-01-01T12:00:00Z";

Exchange asked(const std::string& id, const std::string& suffix = "",
               const std::string& prompt = "Why?") {
  Exchange exchange{.suffix = suffix};
  exchange.request.path = "/d/.agent-request" + suffix + ".json";
  exchange.request.state = FileState::whole;
  exchange.request.version = {.inode = 1, .size = 10, .changed_at = kNoon + kSecond};
  exchange.request.text = id + prompt;
  exchange.request.document = contracts::BridgeRequest{id, "1.0", "reviewer", prompt, kAtNoon};
  return exchange;
}

Exchange in_state(FileState state, std::uint64_t inode = 1) {
  Exchange exchange;
  exchange.request.path = "/d/.agent-request.json";
  exchange.request.state = state;
  exchange.request.version = {.inode = inode, .size = 1, .changed_at = kNoon + kSecond};
  exchange.request.problem = "it is wrong";
  return exchange;
}

Exchange answered(Exchange exchange) {
  exchange.answer = AnswerState::answered;
  return exchange;
}

contracts::BridgeResponse given() {
  return {.request_id = "a", .outcome = contracts::BridgeSuccess{"x"}, .created_at = kAtNoon};
}

Exchange written_again(Exchange exchange) {
  ++exchange.request.version.inode;
  return exchange;
}

Entry entry(std::string event, json::ObjectText details, std::string at = kAtNoon) {
  return {.at = std::move(at), .event = std::move(event), .details = std::move(details)};
}

bool is_used_twice(const WatchStep& step) {
  const auto* refused = std::get_if<Refuse>(&step);
  return refused != nullptr && refused->problem.contains("used twice");
}

}  // namespace

TEST_CASE("a request is asked once, however often it is looked at") {
  RequestTracker seen({});

  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
  CHECK(seen.is_asking(""));
  CHECK(seen.look(asked("a")) == WatchStep(Leave{}));
  CHECK(seen.answered(""));  // It was looked at meanwhile.
  CHECK(!seen.is_asking(""));
  CHECK(seen.look(answered(asked("a"))) == WatchStep(Leave{}));
}

TEST_CASE("an answer that the program has taken is not given again") {
  RequestTracker seen({});
  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
  CHECK(!seen.answered(""));

  CHECK(seen.look(asked("a")) == WatchStep(Leave{}));
  CHECK(seen.look(written_again(asked("a"))) == WatchStep(Leave{}));

  SUBCASE("a new question is asked") { CHECK(seen.look(asked("b")) == WatchStep(Ask{})); }
  SUBCASE("another question under the same id is refused once for each writing") {
    CHECK(is_used_twice(seen.look(asked("a", "", "And why not?"))));
    CHECK(seen.look(asked("a", "", "And why not?")) == WatchStep(Leave{}));
    CHECK(is_used_twice(seen.look(written_again(asked("a", "", "And why not?")))));
  }
  SUBCASE("the same question in another phase is another question") {
    CHECK(is_used_twice(seen.look(asked("a", "-phase2"))));
  }
}

TEST_CASE("what the journal has as answered is not asked again") {
  const std::vector history = {entry("answer.written", {{"request_id", "a"}}),
                               entry("answer.found", {{"request_id", "b"}})};
  RequestTracker seen(history);
  Exchange old = asked("a");
  old.request.version.changed_at = kNoon - kSecond;

  SUBCASE("written before its answer") {
    CHECK(seen.look(old) == WatchStep(Leave{}));
    CHECK(is_used_twice(seen.look(asked("a", "", "And why not?"))));
  }
  SUBCASE("written after it, with the answer there") {
    CHECK(seen.look(answered(asked("a"))) == WatchStep(Leave{}));
  }
  SUBCASE("written after it, without one") {
    CHECK(is_used_twice(seen.look(asked("a"))));
    CHECK(is_used_twice(seen.look(asked("b", "-phase2"))));
  }
}

TEST_CASE("another question under an id that was answered is asked when it was created later") {
  Exchange later = asked("a", "", "And why not?");
  later.request.document->created_at = "2026-01-01T12:00:01Z";

  SUBCASE("answered here") {
    RequestTracker seen({});
    CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
    CHECK(!seen.answered(""));
    CHECK(is_used_twice(seen.look(asked("a", "", "And why not?"))));
    CHECK(seen.look(later) == WatchStep(Ask{}));
    CHECK(!seen.answered(""));
    CHECK(seen.look(later) == WatchStep(Leave{}));
  }
  SUBCASE("answered by an earlier watcher, whose journal says what was asked") {
    json::ObjectText details = {{"request_id", "a"}};
    add_question(details, asked("a"), given());
    RequestTracker seen(std::vector{entry("answer.written", details)});
    CHECK(seen.look(asked("a")) == WatchStep(Leave{}));
    CHECK(seen.look(later) == WatchStep(Ask{}));
  }
  SUBCASE("answered long ago, when journals did not say what was asked") {
    RequestTracker seen(std::vector{entry("answer.written", {{"request_id", "a"}})});
    CHECK(seen.look(later) == WatchStep(Ask{}));
  }
  SUBCASE("the same words, however late, are the same question") {
    RequestTracker seen({});
    CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
    CHECK(!seen.answered(""));
    Exchange again = asked("a");
    again.request.document->created_at = "2026-01-01T12:00:01Z";
    CHECK(is_used_twice(seen.look(again)));
  }
}

TEST_CASE("the answer to the earlier question is none to the new one, whatever its date") {
  RequestTracker seen({});
  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
  CHECK(!seen.answered("", kAtNoon));
  Exchange later = answered(asked("a", "", "And why not?"));
  later.request.document->created_at = "2026-01-01T12:00:00.5Z";
  later.response.document = given();

  CHECK(seen.look(later) == WatchStep(Ask{}));
}

TEST_CASE("a question that a killed watcher had asked is taken up with its ids") {
  const std::vector history = {
      entry("request.asked", {{"request_id", "a"}, {"session_id", "s"}, {"turn_id", "t"}}),
      entry("request.asked", {{"request_id", "b"}, {"session_id", "s"}, {"turn_id", "t"}}),
      entry("request.given_up", {{"request_id", "b"}})};
  RequestTracker seen(history);

  const WatchStep step = seen.look(asked("a"));
  REQUIRE(std::holds_alternative<Ask>(step));
  REQUIRE(std::get<Ask>(step).earlier);
  CHECK(std::get<Ask>(step).earlier->session_id == "s");
  CHECK(std::get<Ask>(step).earlier->turn_id == "t");
  CHECK(seen.look(asked("b", "-phase2")) == WatchStep(Ask{}));
}

TEST_CASE("an answer that the journal does not know is journalled once") {
  RequestTracker seen({});

  CHECK(seen.look(answered(asked("a"))) == WatchStep(NoteAnswer{}));
  CHECK(seen.look(answered(asked("a"))) == WatchStep(Leave{}));
  CHECK(seen.look(asked("a")) == WatchStep(Leave{}));
}

TEST_CASE("half a request is waited for, then told once") {
  RequestTracker seen({});

  CHECK(seen.look(in_state(FileState::torn)) == WatchStep(AwaitRest{}));
  CHECK(seen.look(in_state(FileState::torn)) == WatchStep(AwaitRest{}));
  CHECK(seen.look_again(in_state(FileState::torn, 2)) == WatchStep(AwaitRest{}));  // It has grown.
  CHECK(seen.look_again(in_state(FileState::torn, 2)) == WatchStep(TellTorn{}));
  CHECK(seen.look_again(in_state(FileState::torn, 2)) == WatchStep(Leave{}));
  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
}

TEST_CASE("a broken request is refused once for each writing, and journalled once") {
  const json::ObjectText details = {{"file", "/d/.agent-request.json"}, {"problem", "it is wrong"}};
  const std::vector before = {entry("request.refused", details)};
  const std::vector after = {entry("request.refused", details, "2026-01-01T12:00:02Z")};

  for (const FileState state : {FileState::broken, FileState::unreadable}) {
    RequestTracker seen({});
    CHECK(seen.look(in_state(state)) == WatchStep(Refuse{"it is wrong", false}));
    CHECK(seen.look(in_state(state)) == WatchStep(Leave{}));
    CHECK(seen.look(in_state(state, 2)) == WatchStep(Refuse{"it is wrong", false}));
    CHECK(RequestTracker(before).look(in_state(state)) == WatchStep(Refuse{"it is wrong", false}));
    CHECK(RequestTracker(after).look(in_state(state)) == WatchStep(Refuse{"it is wrong", true}));
  }
}

TEST_CASE("a request that becomes readable is asked") {
  RequestTracker seen({});
  Exchange request = asked("a");
  request.request.state = FileState::unreadable;
  CHECK(std::holds_alternative<Refuse>(seen.look(request)));

  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
}

TEST_CASE("a request that is withdrawn or replaced while it is asked is given up") {
  RequestTracker seen({});
  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));

  SUBCASE("withdrawn") {
    CHECK(seen.look(in_state(FileState::absent)) == WatchStep(Cancel{}));
    CHECK(seen.cancelled(""));
    CHECK(seen.look(in_state(FileState::absent)) == WatchStep(Leave{}));
  }
  SUBCASE("replaced by another question") {
    CHECK(seen.look(asked("b")) == WatchStep(Cancel{}));
    CHECK(seen.cancelled(""));
    CHECK(seen.look(asked("b")) == WatchStep(Ask{}));
  }
  SUBCASE("written again with other words") {
    CHECK(seen.look(asked("a", "", "And why not?")) == WatchStep(Leave{}));
    CHECK(seen.answered(""));
    CHECK(is_used_twice(seen.look(asked("a", "", "And why not?"))));
  }
}

TEST_CASE("two requests with one id are not asked at the same time") {
  RequestTracker seen({});

  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
  CHECK(is_used_twice(seen.look(asked("a", "-phase2"))));
  CHECK(seen.look(asked("b", "-phase3")) == WatchStep(Ask{}));
}

TEST_CASE("what nobody can answer is left until it is written again") {
  RequestTracker seen({});
  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
  CHECK(!seen.refused(""));

  CHECK(seen.look(asked("a")) == WatchStep(Leave{}));
  CHECK(seen.look_again(asked("a")) == WatchStep(Leave{}));
  CHECK(seen.look(written_again(asked("a"))) == WatchStep(Ask{}));
}

TEST_CASE("what failed is tried again later, with the ids that the journal has by then") {
  RequestTracker seen({});
  CHECK(seen.look(asked("a")) == WatchStep(Ask{}));
  const std::vector history = {
      entry("request.asked", {{"request_id", "a"}, {"session_id", "s"}, {"turn_id", "t"}})};
  CHECK(!seen.failed("", history));

  CHECK(seen.look(asked("a")) == WatchStep(Leave{}));
  const WatchStep step = seen.look_again(asked("a"));
  REQUIRE(std::holds_alternative<Ask>(step));
  REQUIRE(std::get<Ask>(step).earlier);
  CHECK(std::get<Ask>(step).earlier->turn_id == "t");
}

}  // namespace treaty::bridge
