// Which turn a request means, and what happens to it (docs/reference/api.md, "Run a turn"). Runs
// inside the store's transaction on what the journal holds at that moment. Pure, but for the ids
// that it mints.
#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/tool_matching.h"
#include "treaty/store/changes.h"
#include "treaty/turns/renderer.h"
#include "treaty/turns/settings.h"

namespace treaty::turns {

// The results of a continuation, compared with the calls of one pending set.
struct MatchedResults {
  std::string pending{};
  contracts::Matching matching{};
};

// A request with all that a decision needs to know of it.
struct TurnRequest {
  store::Room room;  // session_id empty: a request without ids.
  contracts::AgentExecuteRequest request;
  std::string key;                      // What makes it the same request again.
  std::string fingerprint;              // Of its canonical form,
  std::string body;                     // which is this.
  std::function<std::string()> new_id;  // Mints the ids of sessions and turns.
  store::Milliseconds now = 0;
  std::string trace_id{};                   // Of the caller; empty when it named none.
  bool streams = false;                     // The answer is wanted in pieces,
  const Renderer* renderer = nullptr;       // and in this format.
  std::vector<AnswerError> warnings{};      // About the request; for the answer.
  std::optional<MatchedResults> matched{};  // When the results are too many for the transaction.

  bool is_initial() const { return room.session_id.empty(); }

  // The JSON pointer to a member of the request, spelled as the request is.
  std::string pointer(std::string_view name) const {
    return "/" + contracts::spelled(name, request.dialect);
  }
};

// The canonical form, its fingerprint and its key. Streaming is delivery and the dialect is
// spelling: neither counts.
TurnRequest ask(std::string tenant, contracts::AgentExecuteRequest request,
                const std::optional<std::string>& idempotency_key, store::Milliseconds now);

// A round begins: the first of a new turn, the next one of a turn whose tools have answered, or one
// that has failed and runs again.
struct Begin {
  store::Session session{};  // Its id is 0 while it is not stored.
  store::Turn turn{};        // The same.
  // The number of the newest turn before it. 0: there is none. kUnknown: the store is asked.
  std::int64_t history_until = 0;
  static constexpr std::int64_t kUnknown = -1;
  std::string earlier_events{};  // Once more: the diary of the attempts before.
  std::int64_t diary_after = 0;  // The index of the last entry of the round, if there is one.
  const Agent* agent = nullptr;
  const AgentRole* role = nullptr;
};

// Answered before: the same again.
struct Replay {
  store::Session session{};
  store::Turn turn{};
  store::Round round{};
};

// The same request is being run.
struct Running {
  store::Room room{};  // The session of the turn; a request without ids does not name one.
  store::Turn turn{};
};

// A turn whose tools are overdue stands in the way: it expires, then the decision is made again.
struct ExpireFirst {
  store::Room room{};
  std::string turn_id{};
};

// There are so many results that they are matched outside the transaction: match_results(), then
// the decision is made again.
struct MatchFirst {
  std::string pending{};
};

using TurnVerdict = std::variant<Refusal, Begin, Replay, Running, ExpireFirst, MatchFirst>;

struct Decision {
  TurnVerdict verdict;
  store::Change change{};
};

Decision decide(const Settings& settings, const TurnRequest& asked, const store::View& view);

// TOOL-10 to TOOL-12 for a continuation.
MatchedResults match_results(const TurnRequest& asked, std::string pending);

// The warnings about the request of a journalled round.
std::vector<AnswerError> warnings_of(const store::RequestRecord& request);

// The pending set as the journal keeps it, and its ids.
std::string encode_pending(const std::vector<contracts::ToolCall>& calls);
std::vector<std::string> pending_ids(std::string_view pending);

// The turn as it is now: one whose tools are overdue has expired, also when nobody has journalled
// that yet.
store::Turn as_of(store::Turn turn, store::Milliseconds now);

// The change that ends a turn which waits: it has expired when it is overdue, else it was
// cancelled.
store::Change end_waiting(const store::Turn& turn, store::Milliseconds now);

// The agent and the role that a session is for.
struct Chosen {
  const Agent* agent = nullptr;
  const AgentRole* role = nullptr;
};
std::expected<Chosen, Refusal> find_agent(const Settings& settings, std::string_view agent,
                                          std::string_view conversation);

}  // namespace treaty::turns
