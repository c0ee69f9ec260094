#include "treaty/cli/shared/conversation.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>

namespace treaty::cli {
namespace {

using namespace contracts;
using Outcome = decltype(ToolResult::outcome);

// Answers from a list, and keeps what it was asked.
class PlayedDoor : public GatewayClient {
 public:
  explicit PlayedDoor(std::vector<TurnAnswer> answers) : answers_(std::move(answers)) {}

  TurnAnswer ask(const AgentExecuteRequest& request, const OnText& on_text) override {
    requests.push_back(request);
    on_text("…");
    TurnAnswer next = answers_.front();
    if (answers_.size() > 1) answers_.erase(answers_.begin());
    return next;
  }
  bool cancel(const std::string& session_id, const std::string& turn_id) override {
    cancelled.push_back(session_id + "/" + turn_id);
    return true;
  }
  std::expected<std::optional<OpenTurn>, ClientFailure> open_turn(const std::string&) override {
    return std::nullopt;
  }
  std::expected<OpenedSession, ClientFailure> open_session(const std::string&) override {
    return OpenedSession{};
  }
  std::expected<AgentResult, ClientFailure> agent_result(const std::string&,
                                                         const std::string&) override {
    return AgentResult{};
  }

  std::vector<AgentExecuteRequest> requests;
  std::vector<std::string> cancelled;

 private:
  std::vector<TurnAnswer> answers_;
};

TurnAnswer answer_with(std::variant<FinalResponse, ClientToolContinuation> kind) {
  return {encode(InvokeResult{AgentExecuteResponse{"s", "t9", "General", std::move(kind)}})};
}

TurnAnswer tool_calls(std::vector<ToolCall> calls) {
  return answer_with(ClientToolContinuation{std::move(calls)});
}

TurnAnswer done() { return answer_with(FinalResponse{"Done."}); }

AgentExecuteRequest question() { return {"s", "t1", UserTurn{.instruction = "Do it."}}; }

// Says nothing on the terminal of the tests.
ConversationOptions quiet(std::string* told = nullptr) {
  return {.command = "run", .quiet_text = true, .tell = [told](const std::string& lines) {
            if (told != nullptr) *told += lines;
          }};
}

ConversationOptions with_tool(std::string name, std::string command) {
  ConversationOptions options = quiet();
  options.tools.commands = {{std::move(name), std::move(command)}};
  return options;
}

}  // namespace

TEST_CASE("a turn without tools is one question") {
  Signals signals{SIGUSR1};
  PlayedDoor client({done()});

  const TurnEnd end = Conversation(client, signals, quiet()).turn(question());

  CHECK(end.exit_code == kOk);
  CHECK(end.invoke_result == done().invoke_result);
  REQUIRE(client.requests.size() == 1);
  CHECK(client.requests[0] == question());
}

TEST_CASE("the results of tools go back in the order of the calls, to the turn that asked") {
  Signals signals{SIGUSR1};
  PlayedDoor client({tool_calls({{"c1", "look", R"({"n":1})"}, {"c2", "other", "{}"}}), done()});

  const TurnEnd end = Conversation(client, signals, with_tool("look", "cat")).turn(question());

  CHECK(end.exit_code == kOk);
  REQUIRE(client.requests.size() == 2);
  CHECK(client.requests[1].turn_id == "t9");
  const auto& results = std::get<ToolContinuation>(client.requests[1].scenario).tool_results;
  REQUIRE(results.size() == 2);
  CHECK(results[0].tool_call_id == "c1");
  CHECK(results[0].outcome == Outcome(ResultJson{R"({"n":1})"}));
  CHECK(results[1].outcome == Outcome(ErrorMessage{"This client cannot run the tool other."}));
}

TEST_CASE("a tool without a command may be asked of the user, who may also give up") {
  Signals signals{SIGUSR1};
  PlayedDoor client({tool_calls({{"c1", "look", "{}"}}), done()});
  ConversationOptions options = quiet();
  options.ask_user = [](const tools::ToolInvocation& call) {
    return tools::ToolOutcome{call.name};
  };
  CHECK(Conversation(client, signals, options).turn(question()).exit_code == kOk);
  const auto& results = std::get<ToolContinuation>(client.requests.at(1).scenario).tool_results;
  CHECK(results.at(0).outcome == Outcome(ResultJson{"\"look\""}));

  PlayedDoor other({tool_calls({{"c1", "look", "{}"}})});
  options.ask_user = [](const tools::ToolInvocation&) {
    return std::unexpected(Unanswered::cancelled);
  };
  CHECK(Conversation(other, signals, options).turn(question()).exit_code != kOk);
  CHECK(other.cancelled == std::vector<std::string>{"s/t9"});
}

TEST_CASE("a user who leaves lets the turn wait") {
  Signals signals{SIGUSR1};
  PlayedDoor client({tool_calls({{"c1", "look", "{}"}})});
  ConversationOptions options = quiet();
  options.ask_user = [](const tools::ToolInvocation&) { return std::unexpected(Unanswered::left); };

  CHECK(Conversation(client, signals, options).turn(question()).waits);

  CHECK(client.cancelled.empty());
}

TEST_CASE("a turn that was left waiting goes on with the results of its tools") {
  Signals signals{SIGUSR1};
  PlayedDoor client({done()});

  const TurnEnd end = Conversation(client, signals, with_tool("look", "cat"))
                          .resume(tool_calls({{"c1", "look", R"({"n":1})"}}).invoke_result);

  CHECK(end.exit_code == kOk);
  CHECK(!end.waits);
  REQUIRE(client.requests.size() == 1);
  CHECK(client.requests[0].turn_id == "t9");
  const auto& results = std::get<ToolContinuation>(client.requests[0].scenario).tool_results;
  REQUIRE(results.size() == 1);
  CHECK(results[0].tool_call_id == "c1");
  CHECK(results[0].outcome == Outcome(ResultJson{R"({"n":1})"}));
}

TEST_CASE("a turn that was left waiting is left alone when a tool of it has no command") {
  Signals signals{SIGUSR1};
  PlayedDoor client({done()});
  const TurnAnswer waiting = tool_calls({{"c1", "look", "{}"}, {"c2", "other", "{}"}});

  const TurnEnd end =
      Conversation(client, signals, with_tool("look", "touch run")).resume(waiting.invoke_result);

  CHECK(end.waits);
  CHECK(end.exit_code == kViolated);
  CHECK(end.invoke_result == waiting.invoke_result);
  CHECK(client.requests.empty());
  CHECK(client.cancelled.empty());
}

TEST_CASE("a signal while a tool runs ends the tool and cancels the turn") {
  Signals signals{SIGUSR1};
  PlayedDoor client({tool_calls({{"c1", "look", "{}"}})});

  const TurnEnd end =
      Conversation(client, signals, with_tool("look", "kill -USR1 $PPID; exec sleep 1000"))
          .turn(question());

  CHECK(end.signal == SIGUSR1);
  CHECK(client.cancelled == std::vector<std::string>{"s/t9"});
  CHECK(!signals.take());
}

TEST_CASE("tools without end are cancelled") {
  Signals signals{SIGUSR1};
  PlayedDoor client({tool_calls({{"c1", "look", "{}"}})});

  CHECK(Conversation(client, signals, quiet()).turn(question()).exit_code != kOk);
  CHECK(client.cancelled.size() == 1);
}

TEST_CASE("a failure keeps its exit code, and what is no InvokeResult is refused") {
  Signals signals{SIGUSR1};
  const Failure failure{{{.error_code = "rate_limit", .message = "Too fast."}}};
  PlayedDoor failing({{encode(InvokeResult{failure})}});
  PlayedDoor foreign({{"<html>"}});
  PlayedDoor gone({{.failure = "nobody is there"}});

  std::string told;

  CHECK(Conversation(failing, signals, quiet(&told)).turn(question()).exit_code == kTryLater);
  CHECK(told.starts_with("treaty run: rate_limit: Too fast.\n"));
  told.clear();
  CHECK(Conversation(foreign, signals, quiet(&told)).turn(question()).exit_code == kViolated);
  CHECK(told.contains("JSON-01"));
  told.clear();
  CHECK(Conversation(gone, signals, quiet(&told)).turn(question()).exit_code == kUnavailable);
  CHECK(told == "treaty run: nobody is there\n");
}

namespace {

// What comes of it when `text` is typed.
ToolReply typed(std::string_view text) {
  Signals signals{SIGUSR1};
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(ends[1]);
  LineInput input(ends[0], signals);
  ToolReply reply = ask_result(input, {"c1", "look", "{}"});
  close(ends[0]);
  return reply;
}

}  // namespace

TEST_CASE("what is typed is the result, unless it is blank or no text") {
  CHECK(typed(R"({"a": 1})")->content == R"({"a": 1})");
  CHECK(typed("two words\n")->content == "two words");
  CHECK(!typed("two words\n")->is_error);
  CHECK(typed("\n")->is_error);
  CHECK(typed("\xff\n")->is_error);
}

TEST_CASE("/cancel gives the turn up, the end of the input leaves it") {
  CHECK(typed(" /cancel \n").error() == Unanswered::cancelled);
  CHECK(typed("").error() == Unanswered::left);
}

}  // namespace treaty::cli
