#include "treaty/machines/hooks/built_in_hooks.h"

#include <doctest/doctest.h>

#include <boost/json/array.hpp>

#include "treaty/testing/stores/awaiting.h"

namespace treaty::machines {
namespace {

using boost::json::array;
using boost::json::object;

HookEvent event_with_secret(std::string_view kind, const object& more) {
  HookEvent event = {{"event", kind}, {"execution_id", "x1"}};
  for (const auto& [name, value] : more) event[name] = value;
  event["context"] = object{{"secret", "words of the context"}};
  return event;
}

class Log {
 public:
  HookLog sink() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
  std::vector<std::string> lines{};
};

void tell(Hook& hook, const HookEvent& event) {
  boost::asio::io_context context(1);
  const auto answer = testing::await(context, hook.handle(event));
  REQUIRE(answer);
  CHECK(answer->empty());
}

TEST_CASE("A line tells what happened and where, and nothing of what was said") {
  CHECK(line_about(event_with_secret("machine_start", {})) == "machine x1 machine_start");
  CHECK(line_about(event_with_secret("state_enter", {{"state", "draft"}})) ==
        "machine x1 state_enter draft");
  CHECK(line_about(event_with_secret("transition", {{"from", "a"}, {"to", "b"}})) ==
        "machine x1 transition a -> b");
  CHECK(line_about(event_with_secret("action", {{"state", "a"}, {"action", "mail"}})) ==
        "machine x1 action a: mail");
  CHECK(line_about(event_with_secret("error", {{"state", "a"}, {"error", "E: no"}})) ==
        "machine x1 error a: E: no");
  CHECK(line_about(event_with_secret(
            "tool_calls", {{"state", "a"},
                           {"tool_calls", array{object{{"name", "f"}}, object{{"name", "g"}}}}})) ==
        "machine x1 tool_calls a: f, g");
  CHECK(line_about(event_with_secret(
            "tool_result",
            {{"state", "a"}, {"tool_result", object{{"name", "f"}, {"is_error", true}}}})) ==
        "machine x1 tool_result a: f failed");
}

TEST_CASE("S15: one event is one line, whatever stands in it, and holds no key") {
  const std::string line = line_about(event_with_secret(
      "error", {{"state", "a\nb"},
                {"error", "bad\r\n\x1b[31m sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"}}));

  CHECK(!line.contains('\n'));
  CHECK(!line.contains('\x1b'));
  CHECK(!line.contains("abcdefghijklmnopqrstuvwxyz"));
}

TEST_CASE("logging writes a line for each event") {
  Log log;
  const auto hook = make_logging_hook(log.sink());

  tell(*hook, event_with_secret("state_enter", {{"state", "a"}}));
  tell(*hook, event_with_secret("state_exit", {{"state", "a"}}));

  CHECK(log.lines ==
        std::vector<std::string>{"machine x1 state_enter a", "machine x1 state_exit a"});
}

TEST_CASE("metrics counts the events of each state, and says so at the end") {
  Log log;
  auto hook = make_metrics_hook(log.sink());

  tell(*hook, event_with_secret("state_enter", {{"state", "b"}}));
  tell(*hook, event_with_secret("state_enter", {{"state", "a"}}));
  tell(*hook, event_with_secret("state_enter", {{"state", "a"}}));
  tell(*hook, event_with_secret("transition", {{"from", "a"}, {"to", "b"}}));
  tell(*hook, event_with_secret("machine_end", {}));
  CHECK(log.lines.empty());
  hook.reset();

  CHECK(log.lines ==
        std::vector<std::string>{
            "metrics x1: a state_enter 2, a transition 1, b state_enter 1, machine_end 1"});
}

TEST_CASE("The hooks that every machine can name are those of machines.md section 8") {
  const HookRegistry registry = built_in_hooks({});

  std::string names;
  for (const auto& [name, make] : registry) names += name + " ";
  CHECK(names == "command logging metrics rate-limit webhook ");
  const object none;
  const std::string directory = ".";
  CHECK(registry.at("logging")({.arguments = none, .directory = directory}));
  CHECK(registry.at("metrics")({.arguments = none, .directory = directory}));
  CHECK(registry.at("rate-limit")({.arguments = none, .directory = directory}));
  CHECK(!registry.at("command")({.arguments = none, .directory = directory}));
  CHECK(!registry.at("webhook")({.arguments = none, .directory = directory}));
}

}  // namespace
}  // namespace treaty::machines
