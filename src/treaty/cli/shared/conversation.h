// One turn from its request to its end, for a person or a pipe: asks, shows what comes, runs client
// tools and goes on with their results.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/cli/shared/client_tools.h"
#include "treaty/cli/shared/line_input.h"
#include "treaty/cli/shared/signals.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/invoke_result.h"

namespace treaty::cli {

// What a request came to.
struct TurnAnswer {
  std::string invoke_result{};  // Empty when none came;
  std::string failure{};        // then this says why, and what to do.
  int signal = 0;               // Came while it was waited for.
};

using OnText = std::function<void(std::string_view)>;

// Gets the entries of a turn's diary while it runs, on another thread: a kind and a JSON object.
using OnTurnEvent = std::function<void(std::string_view kind, std::string_view data)>;

// The newest turn of a session, when it has not ended.
struct OpenTurn {
  std::string turn_id{};
  std::string invoke_result{};  // Its last answer, with the tools it waits for; empty: it runs.
};

// Why nothing came of it.
struct ClientFailure {
  int exit_code = 0;
  std::string text{};  // For people.
  std::string code{};  // Of the InvokeResult's error, if it was one.
};

// A new session, and the id that its first turn is to have.
struct OpenedSession {
  std::string session_id{};
  std::string turn_id{};
};

// Whom a turn is sent to: a gateway in this process, or one behind an address.
class GatewayClient {
 public:
  virtual ~GatewayClient() = default;

  // Gives the text as it comes, and waits for the result. An interrupt cancels the turn, which then
  // ends with a result that says so.
  virtual TurnAnswer ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) = 0;

  // Ends a turn that runs or waits for tools; false when nobody heard it.
  virtual bool cancel(const std::string& session_id, const std::string& turn_id) = 0;

  // Nothing when the session waits for a request, and when nobody knows it.
  virtual std::expected<std::optional<OpenTurn>, ClientFailure> open_turn(
      const std::string& session_id) = 0;

  // Empty: the default agent.
  virtual std::expected<OpenedSession, ClientFailure> open_session(const std::string& agent) = 0;

  // What the agent said in a turn that has ended, unsealed (turns/views/agent_view.h).
  virtual std::expected<contracts::AgentResult, ClientFailure> agent_result(
      const std::string& session_id, const std::string& turn_id) = 0;
};

// Why a call has no result: nobody wants the turn any more, or not now.
enum class Unanswered { cancelled, left };
using ToolReply = std::expected<tools::ToolOutcome, Unanswered>;

// The result of a client tool, typed by whoever sits there. A line is the result, an empty one says
// that the tool failed. `/cancel` and an interrupt give the turn up; the end of the input leaves it
// waiting.
ToolReply ask_result(LineInput& input, const tools::ToolInvocation& call);
using AskUser = std::function<ToolReply(const tools::ToolInvocation&)>;

struct ConversationOptions {
  std::string command{};  // "run", for messages.
  ClientTools tools{};
  bool quiet_text = false;  // The text stays inside the result.
  bool colors = false;
  std::function<void(const std::string&)> tell{};  // What is not the answer; absent: to stderr.
  AskUser ask_user{};  // For a tool without a command; absent: nobody can be asked.
};

struct TurnEnd {
  int exit_code = 0;
  int signal = 0;                                   // What ended it, if a signal did.
  bool waits = false;                               // It is not over: its tools are waited for.
  std::string invoke_result{};                      // The last one; empty when none came.
  std::optional<contracts::InvokeResult> result{};  // The same, when it keeps its contract.
};

class Conversation {
 public:
  Conversation(GatewayClient& client, Signals& signals, ConversationOptions options)
      : client_(client),
        signals_(signals),
        options_(std::move(options)),
        commands_(options_.tools) {}

  TurnEnd turn(const contracts::AgentExecuteRequest& request);

  // Goes on with a turn that was left waiting, from the answer that names its tools. When one of
  // them has no command and nobody can be asked, nothing is done and the turn `waits`.
  TurnEnd resume(std::string invoke_result);

 private:
  void tell(const std::string& lines) const;
  void show_text(std::string_view delta);
  void show_final(const contracts::FinalResponse& last);
  TurnAnswer ask(const contracts::AgentExecuteRequest& request);
  TurnEnd follow(TurnAnswer answer);
  TurnEnd end_of(TurnAnswer answer) const;
  TurnEnd unanswered(const contracts::AgentExecuteResponse& waiting, Unanswered why);

  std::expected<std::vector<contracts::ToolResult>, Unanswered> answer_calls(
      const contracts::ClientToolContinuation& waiting);
  ToolReply answer_call(const contracts::ToolCall& call);

  GatewayClient& client_;
  Signals& signals_;
  ConversationOptions options_;
  ToolCommands commands_;
  TextOutput output_{};
  std::string shown_{};  // Of this round's text.
};

}  // namespace treaty::cli
