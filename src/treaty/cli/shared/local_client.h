// A client of the gateway in this very process: one turn at a time, no network.
#pragma once

#include "treaty/cli/gateway.h"
#include "treaty/cli/shared/conversation.h"
#include "treaty/cli/shared/signals.h"

namespace treaty::cli {

class LocalClient : public GatewayClient {
 public:
  LocalClient(Gateway& gateway, Signals& signals, OnTurnEvent on_event = {})
      : gateway_(gateway), signals_(signals), on_event_(std::move(on_event)) {}

  // The first signal cancels the turn; the second one ends the process.
  TurnAnswer ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) override;
  bool cancel(const std::string& session_id, const std::string& turn_id) override;
  std::expected<std::optional<OpenTurn>, ClientFailure> open_turn(
      const std::string& session_id) override;
  std::expected<OpenedSession, ClientFailure> open_session(const std::string& agent) override;
  std::expected<contracts::AgentResult, ClientFailure> agent_result(
      const std::string& session_id, const std::string& turn_id) override;

 private:
  Gateway& gateway_;
  Signals& signals_;
  OnTurnEvent on_event_;
  int signal_ = 0;
};

}  // namespace treaty::cli
