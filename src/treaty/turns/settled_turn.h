// A round that has ended, as a value: what the backend answered, and what the client is told. The
// journal keeps it beside the bytes that a renderer made of it (renderer.h), so that every other
// consumer reads the value instead of those bytes.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/turns/refusals.h"
#include "treaty/turns/transcript.h"

namespace treaty::turns {

using TypedAnswer =
    std::variant<contracts::FinalResponse, contracts::ClientToolContinuation, AnswerError>;

struct SettledTurn {
  std::string session_id{};
  std::string turn_id{};
  std::string mode{};                   // ModeDisplayName. The turn's own row has these three.
  std::string answer_id{};              // Names these bytes (ResultId); not journalled.
  TypedAnswer answer{};                 // Sealed: the texts may leave.
  std::vector<AnswerError> warnings{};  // About the request.
  contracts::AgentResult result{};      // Of the last call. Usage and cost: of all calls of
                                        // the round. An error without a call: the answer's.
  std::string backend{};                // The backend that was asked last; empty: none was,
  std::string model{};                  // and the model that was asked for.
};

// The AgentResult of a round that ended with this error and has none of its own.
contracts::AgentResult result_of(const AnswerError& error);

// As the journal keeps it beside the turn and the transcript of the round, without repeating what
// these have: the ids, the mode, and a text that the model said.
std::string encode(const SettledTurn& turn, const Transcript& transcript);

// Only what encode() wrote, with the transcript as the journal keeps it; anything else is
// `corrupt`. Ids and mode stay empty.
std::expected<SettledTurn, Error> decode_settled_turn(std::string_view json,
                                                      std::string_view transcript);

}  // namespace treaty::turns
