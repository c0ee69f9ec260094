// What the journal holds: sessions, turns, and the requests and answers of their rounds.
//
// A round is one request of a client and its answer: the user turn is round 0, each submission of
// tool results is one more. Requests and answers are written once. Two exceptions: a round that
// failed and runs again replaces its answer, and `events` may grow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/contracts/inspection/names.h"

namespace treaty::store {

using Milliseconds = std::int64_t;  // Since 1970, UTC.

// The name of a session among those of its tenant.
struct Room {
  std::string tenant;
  std::string session_id;
  bool operator==(const Room&) const = default;
};

enum class TurnState : std::uint8_t {
  accepted,  // Some process runs it, or will; clients see `running`.
  awaiting_tools,
  completed,
  failed,
  cancelled,
  expired,
};

// A turn that failed, was cancelled or expired: nobody's successor, left out of the history.
constexpr bool is_dead(TurnState state) {
  return state == TurnState::failed || state == TurnState::cancelled || state == TurnState::expired;
}
// Still to be ended by somebody.
constexpr bool is_open(TurnState state) {
  return state == TurnState::accepted || state == TurnState::awaiting_tools;
}
std::string_view name_of(TurnState state);

struct Session {
  std::int64_t id = 0;
  Room room{};
  std::string agent{};             // Empty until the first turn has fixed it;
  std::string conversation{};      // empty for none.
  std::string solution_context{};  // The latched one.
  std::string opening_turn{};      // The TurnId that was minted with it; empty when none was.
  Milliseconds created_at = 0;
  Milliseconds updated_at = 0;
  std::int64_t turns = 0;   // How many, dead ones included.
  std::string last_turn{};  // The TurnId of the one with the highest number. Not in a View.
  bool operator==(const Session&) const = default;
};

struct Turn {
  std::int64_t id = 0;
  std::int64_t session = 0;
  std::int64_t number = 0;  // Its place in the session, from 1. A dead turn that runs again after
                            // later ones moves behind them.
  std::string turn_id{};    // The client's name for it.
  TurnState state = TurnState::accepted;
  int round = 0;  // The newest.
  std::string mode{};
  std::string pending{};  // Awaiting tools: the calls, as the engine wrote them.
  Milliseconds tool_deadline = 0;
  std::string error_code{};   // Of a dead turn.
  bool retryable = false;     // Failed: the same request runs again.
  bool has_streamed = false;  // Deltas of the running round may have left.
  std::int64_t events = 0;    // Ids of its stream that finished rounds have used.
  Milliseconds created_at = 0;
  Milliseconds updated_at = 0;
  bool operator==(const Turn&) const = default;
};

struct RequestRecord {
  int round = 0;
  std::string key{};          // 32 bytes: what makes it the same request again.
  std::string fingerprint{};  // 32 bytes: of its canonical form.
  std::string body{};         // The canonical form.
  contracts::Dialect dialect = contracts::Dialect::pascal;
  bool streaming = false;
  std::string events{};  // Diagnostics, a JSON object a line.
  std::string format{};  // Of its answers, by the name of a renderer.
  bool operator==(const RequestRecord&) const = default;
};

struct AnswerRecord {
  int round = 0;
  std::string body{};    // What the client was sent, byte for byte,
  std::string format{};  // in the format of that name. Empty: from before formats had names.
  std::string result{};  // The round as a value, as the engine wrote it; empty: likewise.
  contracts::Dialect dialect = contracts::Dialect::pascal;
  std::string error_code{};      // Empty when it was successful.
  std::string transcript{};      // What model and tools said in this round.
  std::string deltas{};          // What was streamed, as the engine wrote it.
  std::int64_t first_event = 1;  // The id of the round's first stream event.
  std::string events{};          // Diagnostics, a JSON object a line.
  Milliseconds created_at = 0;
  bool operator==(const AnswerRecord&) const = default;
};

struct Round {
  RequestRecord request{};
  std::optional<AnswerRecord> answer{};
  bool operator==(const Round&) const = default;
};

struct TurnRecord {
  Turn turn{};
  std::vector<Round> rounds{};
  bool operator==(const TurnRecord&) const = default;
};

}  // namespace treaty::store
