#include "treaty/machines/journal/history.h"

#include <doctest/doctest.h>

namespace treaty::machines {
namespace {

using Lines = std::vector<std::string>;

std::string beginning() {
  return line_of(Beginning{.text = "m", .directory = "/d", .input = {{"x", 1}}, .depth = 0});
}

TEST_CASE("What was written of a step is read again") {
  Outcome child{.execution = "x.1.0", .output = Object{{"v", 2}}};
  child.calls = 3;
  child.waits = {5};
  const Lines lines = {beginning(),
                       entered_line(1, "s"),
                       call_line(1, 0, "a", {{"content", "hi"}}),
                       wait_line(1, 0, 2.5, 1'000),
                       child_line(1, 0, child),
                       action_line(1, {Object{{"context", Object{{"k", 1}}}}}),
                       signal_line(1, Object{{"ok", true}}),
                       exit_line(1, {.result = Object{{"content", "hi"}},
                                     .output = Object{{"content", "hi"}},
                                     .redirect = "t"})};

  const auto history = read_history(lines, 1, false);

  REQUIRE(history);
  CHECK(history->beginning.input == Object{{"x", 1}});
  CHECK(history->path == Lines{"s"});
  const StepHistory& step = history->steps.at(1);
  CHECK(step.calls.at(0) == Object{{"content", "hi"}});
  CHECK(step.waits.at(0).seconds == 2.5);
  CHECK(step.waits.at(0).until == 1'000);
  CHECK(step.children.at(0).calls == 3);
  CHECK(step.children.at(0).output == Object{{"v", 2}});
  CHECK(step.action == List{Object{{"context", Object{{"k", 1}}}}});
  CHECK(step.signal == Dynamic(Object{{"ok", true}}));
  CHECK(step.exit->redirect == "t");
  CHECK(history->calls == 0);  // They count when the step is done again.
}

TEST_CASE("Steps that are over are counted, with the calls and waits of their children") {
  Outcome child{.execution = "x.1.0"};
  child.calls = 3;
  child.waits = {5};
  const Lines lines = {beginning(), entered_line(1, "s"), call_line(1, 0, "a", {}),
                       wait_line(1, 0, 2, 0), child_line(1, 0, child)};

  const auto history = read_history(lines, 1, true);

  CHECK(history->calls == 4);
  CHECK(history->waits == std::vector<double>{2, 5});
}

TEST_CASE("A line that stands twice counts once, and the last one is true") {
  const Lines lines = {beginning(), call_line(1, 0, "a", {{"content", "old"}}),
                       call_line(1, 0, "a", {{"content", "new"}})};

  CHECK(read_history(lines, 1, true)->calls == 1);
  CHECK(read_history(lines, 1, false)->steps.at(1).calls.at(0) == Object{{"content", "new"}});
}

TEST_CASE("Lines of later steps wait until their step comes") {
  const Lines lines = {beginning(), entered_line(1, "s"), entered_line(2, "t"),
                       call_line(2, 0, "a", {{"content", "hi"}})};

  const auto history = read_history(lines, 1, true);

  CHECK(history->path == Lines{"s"});
  CHECK(history->calls == 0);
  CHECK(history->steps.at(2).calls.size() == 1);
}

TEST_CASE("A step that is entered twice keeps what was done, unless it is another state") {
  const Lines same = {beginning(), entered_line(2, "s"), call_line(2, 0, "a", {}),
                      entered_line(2, "s")};
  const Lines other = {beginning(), entered_line(2, "s"), call_line(2, 0, "a", {}),
                       entered_line(2, "t")};

  CHECK(read_history(same, 1, true)->steps.at(2).calls.size() == 1);
  CHECK(read_history(other, 1, true)->steps.at(2).calls.empty());
}

TEST_CASE("Launched machines and children of one state are counted apart") {
  Outcome child{.execution = "x.1.0"};
  child.calls = 1;
  const Lines lines = {beginning(), launched_line(1, 0, 2), child_line(1, 0, child)};

  CHECK(read_history(lines, 1, true)->calls == 3);
}

TEST_CASE("A journal without a beginning, or with a line that is no object, is refused") {
  CHECK_FALSE(read_history({}, 0, false));
  CHECK_FALSE(read_history({beginning(), "[1"}, 0, false));
}

TEST_CASE("How often each agent, tool and hook was asked can be counted") {
  std::map<std::string, std::int64_t> asked;

  count_asked({call_line(1, 0, "a", {}), call_line(2, 0, "a", {}),
               tool_line(2, 0, "search", {.content = "r"}), hook_line(1, "h", "state_exit")},
              asked);

  CHECK(asked == std::map<std::string, std::int64_t>{
                     {"agent:a", 2}, {"tool:search", 1}, {"hook:h:state_exit", 1}});
}

TEST_CASE("A journal tells what each process has paid in a round, and an old one tells nothing") {
  const std::string start = line_of(Beginning{.text = "m"});
  const auto call = [](std::int64_t number, double cost) {
    return call_line(1, number, "a", Object{{"content", "x"}, {"cost", cost}});
  };
  Outcome child{.status = Status::completed, .execution = "x.1.0"};
  child.paid = {Object{{"cost", 4.0}}, Object{{"cost", 8.0}}};

  const auto history =
      read_history({start, run_line("p1", 0), call(0, 1), call(0, 1), child_line(1, 0, child),
                    run_line("p2", 0), call(1, 2), run_line("p2", 1), call(2, 16)},
                   1, false);
  REQUIRE(history);
  const auto paid = [&](const char* process, std::int64_t round) {
    const EarlierPayments earlier = earlier_payments(history->runs, process, round);
    double sum = 0;
    for (const Object& one : earlier.paid) sum += one.at("cost").as_double();
    return std::pair(sum, earlier.are_told);
  };

  CHECK(paid("p3", 0) == std::pair(15.0, false));
  CHECK(paid("p2", 0) == std::pair(15.0, true));
  CHECK(paid("p3", 1) == std::pair(16.0, false));
  CHECK(paid("p3", 2) == std::pair(0.0, false));
  CHECK(history->steps.at(1).calls.size() == 3);

  const auto old = read_history({start, call(0, 1)}, 1, false);
  REQUIRE(old);
  CHECK(old->runs.empty());
  CHECK(old->steps.at(1).calls.size() == 1);
}

}  // namespace

TEST_CASE("an account tells the steps of an execution in their order, with all that they did") {
  const Object limited = {{"error", Object{{"code", "rate_limit"}, {"message", "slow down"}}}};
  const Object answer = {{"content", "ok"}, {"finish_reason", "stop"}};
  const std::vector<std::string> lines = {
      line_of(Beginning{.text = "m", .directory = "/d", .input = {{"a", 1}}, .parent = "p"}),
      entered_line(1, "ask"),
      call_line(1, 0, "writer", limited),
      wait_line(1, 0, 2.5, 100),
      call_line(1, 1, "writer", answer),
      exit_line(1, {.redirect = "other"}),
      entered_line(2, "other"),
      signal_line(2, "go"),
      tool_line(2, 0, "search", {.content = "found"}),
      child_line(2, 0, {.execution = "x.2.0"}),
      ended_line({.output = Object{{"b", 2}}}),
  };

  const auto account = read_account(lines);

  REQUIRE(account);
  CHECK(account->beginning.parent == "p");
  REQUIRE(account->steps.size() == 2);
  const StepAccount& first = account->steps[0];
  CHECK(first.state == "ask");
  REQUIRE(first.calls.size() == 2);
  CHECK(first.calls[0].error.at("code") == "rate_limit");
  CHECK(first.calls[1].finish_reason == "stop");
  CHECK(first.waits == std::vector{2.5});
  CHECK(first.redirect == "other");
  const StepAccount& second = account->steps[1];
  CHECK(second.signal == Dynamic("go"));
  CHECK(second.tools == std::vector<std::string>{"search"});
  REQUIRE(second.children.size() == 1);
  CHECK(second.children[0].execution == "x.2.0");
  REQUIRE(account->ended);
  CHECK(account->ended->output.at("b") == 2);
}

TEST_CASE("a line that stands twice in a journal is one call") {
  const std::string call = call_line(1, 0, "writer", {{"content", "ok"}});

  const auto account = read_account({entered_line(1, "ask"), call, entered_line(1, "ask"), call});

  REQUIRE(account);
  REQUIRE(account->steps.size() == 1);
  CHECK(account->steps[0].calls.size() == 1);
}

TEST_CASE("a journal that is no JSON is told with its line") {
  const auto account = read_account({entered_line(1, "ask"), "{\"kind\":"});

  REQUIRE(!account);
  CHECK(account.error().find("line 2") != std::string::npos);
}

TEST_CASE("only a journal that begins at its beginning tells how it began") {
  CHECK(!read_beginning({}));
  CHECK(!read_beginning({entered_line(1, "ask")}));
  CHECK(read_beginning({line_of(Beginning{.parent = "p"})})->parent == "p");
}

TEST_CASE("what a tool answered is known to whoever goes on") {
  const auto history =
      read_history({line_of(Beginning{}), entered_line(1, "ask"),
                    tool_line(1, 1, "search", {.content = "found", .is_error = true})},
                   1, false);

  REQUIRE(history);
  const ToolOutcome& outcome = history->steps.at(1).tools.at(1);
  CHECK(outcome.content == "found");
  CHECK(outcome.is_error);
}

}  // namespace treaty::machines
