#include "treaty/cli/shared/local_client.h"

#include "treaty/base/ids.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/records.h"
#include "treaty/turns/views/agent_view.h"

namespace treaty::cli {

TurnAnswer LocalClient::ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) {
  TurnAnswer answer;
  if (const auto early = signals_.take()) return {.signal = *early};
  do_watched(
      signals_, [&] { answer.invoke_result = gateway_.execute(request, on_text, on_event_); },
      [&](int number) {
        signal_ = number;
        signals_.let_go();
        gateway_.cancel(request.session_id, request.turn_id);
      });
  answer.signal = signal_;
  return answer;
}

bool LocalClient::cancel(const std::string& session_id, const std::string& turn_id) {
  gateway_.cancel(session_id, turn_id);
  return true;
}

std::expected<std::optional<OpenTurn>, ClientFailure> LocalClient::open_turn(
    const std::string& session_id) {
  const auto newest = gateway_.newest_turn(session_id);
  if (!newest)
    return std::unexpected(ClientFailure{kUnavailable, harmless(newest.error().message)});
  if (!*newest || !store::is_open((*newest)->turn.state)) return std::nullopt;
  OpenTurn open{.turn_id = (*newest)->turn.turn_id};
  if ((*newest)->turn.state == store::TurnState::awaiting_tools) {
    for (const store::Round& round : (*newest)->rounds) {
      if (round.answer) open.invoke_result = round.answer->body;
    }
  }
  return open;
}

// Sessions of this process need not be opened; that an agent is not there is told by its first
// turn.
std::expected<OpenedSession, ClientFailure> LocalClient::open_session(
    const std::string& /*agent*/) {
  return OpenedSession{.session_id = new_uuid(), .turn_id = new_uuid()};
}

std::expected<contracts::AgentResult, ClientFailure> LocalClient::agent_result(
    const std::string& session_id, const std::string& turn_id) {
  const auto newest = gateway_.newest_turn(session_id);
  if (!newest)
    return std::unexpected(ClientFailure{kUnavailable, harmless(newest.error().message)});
  if (*newest && (*newest)->turn.turn_id == turn_id) {
    if (auto result = turns::agent_view(**newest)) return *std::move(result);
  }
  return std::unexpected(
      ClientFailure{kUnavailable, "the journal of turns has no result of this turn"});
}

}  // namespace treaty::cli
