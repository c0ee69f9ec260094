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

}  // namespace
}  // namespace treaty::machines
