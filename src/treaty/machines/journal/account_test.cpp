#include <doctest/doctest.h>

#include "treaty/machines/journal/history.h"

namespace treaty::machines {

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
