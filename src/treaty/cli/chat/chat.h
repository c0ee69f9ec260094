// A conversation in a terminal, or through pipes: lines in, answers out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/line_input.h"
#include "treaty/cli/shared/remote_client.h"

namespace treaty::cli::chat {

struct ChatOptions {
  std::string url{};      // As the user wrote it; empty: the gateway of this process.
  std::string session{};  // Empty: opened with the first line.
  std::string agent{};
  ClientTools tools{};
};

class Chat {
 public:
  Chat(RemoteClient& client, LineInput& input, Signals& signals, ChatOptions options);

  // Until the input ends, the user leaves, or nobody is reachable. Answers the exit code.
  int run();

 private:
  // Nothing: go on. Else leave with that code.
  using Verdict = std::optional<int>;

  Verdict read_and_take();
  Verdict take(const std::string& line);
  Verdict obey(std::string_view word, std::string_view rest);
  Verdict say(const std::string& text);
  Verdict send();
  Verdict resume();
  Verdict after(const TurnEnd& end);
  Verdict failed(const ClientFailure& failure);
  Verdict on_signal(int number);
  void branch(std::string_view turn_id);
  void cancel();
  void tell_session() const;
  std::string resume_command() const;

  RemoteClient& client_;
  LineInput& input_;
  ChatOptions options_;
  Conversation conversation_;
  std::optional<contracts::AgentExecuteRequest> last_request_{};
  std::string last_turn_{};
  int worst_ = 0;                 // What the last failed turn ended with.
  bool was_interrupted_ = false;  // While nothing ran.
};

}  // namespace treaty::cli::chat
