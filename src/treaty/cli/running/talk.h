// One turn from its request to its end, for a person or a pipe: asks, shows what comes, runs client
// tools and goes on with their results.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/cli/running/client_tools.h"
#include "treaty/cli/running/signals.h"
#include "treaty/cli/text_output.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/invoke_result.h"

namespace treaty::cli {

// What a request came to.
struct Answer {
  std::string invoke_result{};  // Empty when none came;
  std::string failure{};        // then this says why, and what to do.
  int signal = 0;               // Came while it was waited for.
};

using OnText = std::function<void(std::string_view)>;

// Whom a turn is sent to: a gateway in this process, or one behind an address.
class Door {
 public:
  virtual ~Door() = default;

  // Gives the text as it comes, and waits for the result. An interrupt cancels the turn, which then
  // ends with a result that says so.
  virtual Answer ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) = 0;

  // Ends a turn that runs or waits for tools; false when nobody heard it.
  virtual bool cancel(const std::string& session_id, const std::string& turn_id) = 0;
};

using ToolOutcome = std::variant<contracts::ResultJson, contracts::ErrorMessage>;

struct TalkOptions {
  std::string command{};  // "run", for messages.
  ClientTools tools{};
  bool quiet_text = false;  // The text stays inside the result.
  bool colors = false;
  std::function<void(const std::string&)> tell{};  // What is not the answer; absent: to stderr.
  // For a tool without a command; nothing: the user does not want to go on.
  std::function<std::optional<ToolOutcome>(const contracts::ToolCall&)> ask_user{};
};

struct TurnEnd {
  int exit_code = 0;
  int signal = 0;                                   // What ended it, if a signal did.
  std::string invoke_result{};                      // The last one; empty when none came.
  std::optional<contracts::InvokeResult> result{};  // The same, when it keeps its contract.
};

class Talk {
 public:
  Talk(Door& door, Signals& signals, TalkOptions options)
      : door_(door), signals_(signals), options_(std::move(options)) {}

  TurnEnd turn(contracts::AgentExecuteRequest request);

 private:
  void tell(const std::string& lines) const;
  void show_text(std::string_view delta);
  void show_final(const contracts::FinalResponse& last);
  TurnEnd end_of(Answer answer) const;
  TurnEnd interrupted(const contracts::AgentExecuteResponse& waiting, int signal);

  // Nothing: a signal came, or the user does not want to go on.
  std::optional<std::vector<contracts::ToolResult>> answer_calls(
      const contracts::ClientToolContinuation& waiting);
  std::optional<ToolOutcome> answer_call(const contracts::ToolCall& call);

  Door& door_;
  Signals& signals_;
  TalkOptions options_;
  TextOutput output_{};
  std::string shown_{};  // Of this round's text.
};

}  // namespace treaty::cli
