#include "treaty/turns/decision.h"

#include <fmt/format.h>

#include "treaty/base/hash.h"
#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/turns/diary.h"
#include "treaty/turns/turn_log.h"

namespace treaty::turns {
namespace {

using contracts::ToolContinuation;
using contracts::UserTurn;
using store::Turn;
using store::TurnState;

std::string sha256(std::initializer_list<std::string_view> parts) {
  Sha256 digest;
  for (const std::string_view part : parts) {
    digest.add(part);
    digest.add(std::string_view("\0", 1));
  }
  return digest.bytes();
}

Decision refuse(Reason reason, std::string message, std::optional<std::string> context = {},
                std::optional<std::string> details = {}) {
  return {Refusal{reason, std::move(message), std::move(context), std::move(details)}};
}

bool is_overdue(const Turn& turn, store::Milliseconds now) {
  return turn.state == TurnState::awaiting_tools && turn.tool_deadline <= now;
}

// Beside a turn that is open: it has to expire first, or the request is refused.
Decision beside_open(const TurnRequest& asked, const store::View& view) {
  const Turn& newest = *view.newest;
  if (is_overdue(newest, asked.now)) return {ExpireFirst{view.session->room, newest.turn_id}};
  return refuse(
      Reason::turn_in_progress,
      newest.state == TurnState::awaiting_tools
          ? fmt::format("turn {} waits for the results of its tools: submit them, or cancel it",
                        newest.turn_id)
          : fmt::format("turn {} still runs: wait for its answer, or cancel it", newest.turn_id),
      newest.turn_id);
}

Decision superseded(std::string_view named, std::string_view newest) {
  return refuse(Reason::turn_superseded,
                fmt::format("turn {} is followed by another already; the newest is {}: follow that "
                            "one, or branch from {}",
                            named, newest, named),
                std::string(newest), fmt::format("NewestTurnId: {}", newest));
}

void write_warning(json::Writer& writer, const AnswerError& warning) {
  writer.begin_object().member("ErrorCode", warning.code).member("Message", warning.message);
  if (warning.context) writer.member("Context", *warning.context);
  if (warning.details) writer.member("Details", *warning.details);
  writer.end_object();
}

AnswerError read_warning(json::Value value) {
  const auto text = [&](std::string_view name) -> std::optional<std::string> {
    const auto member = json::find_member(value, name);
    if (!member || !member->is_string()) return std::nullopt;
    return std::string(member->text());
  };
  return {.code = text("ErrorCode").value_or("contract_warning"),
          .message = text("Message").value_or(""),
          .context = text("Context"),
          .details = text("Details")};
}

// The request of a round of the turn with that number, as it is journalled.
store::RequestRecord request_of(const TurnRequest& asked, std::int64_t number, int round) {
  const auto* user = std::get_if<UserTurn>(&asked.request.scenario);
  json::Writer data;
  data.begin_object().member("Round", round);
  if (!asked.trace_id.empty()) data.member("TraceId", asked.trace_id);
  if (!asked.warnings.empty()) {
    data.name("Warnings").array(asked.warnings, [&](const auto& one) { write_warning(data, one); });
  }
  data.end_object();
  return {.round = round,
          .key = asked.key,
          .fingerprint = asked.fingerprint,
          .body = asked.body,
          .dialect = asked.request.dialect,
          .streaming = asked.streams,
          .events = event_line({number, round * kEventsPerRound},
                               user != nullptr ? "turn.accepted" : "tools.submitted", asked.now,
                               data.take()),
          .format = std::string(asked.renderer->format())};
}

// A few of the agents, for whoever has named none of them.
std::string names_of(const Settings& settings) {
  constexpr std::size_t kMost = 10;
  std::string out;
  std::size_t count = 0;
  for (const auto& [name, agent] : settings.agents) {
    if (++count > kMost) return out + "… (GET /v1/agents)";
    out += fmt::format("{}{}", out.empty() ? "" : ", ", name);
  }
  return out;
}

// The agent that a session is fixed to, or that this request fixes it to.
std::expected<Chosen, Refusal> choose_agent(const Settings& settings, const TurnRequest& asked,
                                            const UserTurn& user,
                                            const std::optional<store::Session>& session) {
  if (!session || session->agent.empty()) {
    return find_agent(settings, user.agent_context_id.value_or(kDefaultAgent),
                      user.conversation_context_id.value_or(""));
  }
  const auto differs = [](const std::optional<std::string>& named, const std::string& fixed) {
    return named && *named != fixed;
  };
  if (differs(user.agent_context_id, session->agent)) {
    return std::unexpected(
        Refusal{Reason::agent_mismatch,
                fmt::format("the session belongs to agent {}: leave AgentContextId out, or open "
                            "another session",
                            session->agent),
                asked.pointer("AgentContextId")});
  }
  if (differs(user.conversation_context_id, session->conversation)) {
    return std::unexpected(
        Refusal{Reason::agent_mismatch,
                session->conversation.empty()
                    ? "the session has no ConversationContextId: leave it out, or open another "
                      "session"
                    : fmt::format("the session's ConversationContextId is {}: leave it out, or "
                                  "open another session",
                                  session->conversation),
                asked.pointer("ConversationContextId")});
  }
  return find_agent(settings, session->agent, session->conversation);
}

// The id of the turn to append; a refusal when the request follows what cannot be followed.
std::variant<std::string, Decision> name_of_new_turn(const TurnRequest& asked,
                                                     const store::View& view) {
  if (view.newest && is_open(view.newest->state)) return beside_open(asked, view);
  const std::string& named = asked.request.turn_id;
  const bool is_opening = view.session && !named.empty() && view.session->opening_turn == named;
  if (!view.named && !is_opening) return asked.is_initial() ? asked.new_id() : named;
  // A dead turn after the newest may be followed as well as the newest itself.
  const std::int64_t number = view.named ? view.named->number : 0;
  if (view.newest && number < view.newest->number) return superseded(named, view.newest->turn_id);
  return asked.new_id();
}

Decision decide_user_turn(const Settings& settings, const TurnRequest& asked, const UserTurn& user,
                          const store::View& view) {
  if (!view.session && settings.explicit_sessions && !asked.is_initial()) {
    return refuse(Reason::session_not_found,
                  "there is no such session: open one with POST /v1/sessions",
                  asked.pointer("SessionId"));
  }
  const auto choice = choose_agent(settings, asked, user, view.session);
  if (!choice) return {choice.error()};
  auto name = name_of_new_turn(asked, view);
  if (auto* decision = std::get_if<Decision>(&name)) return std::move(*decision);

  Begin begin{.agent = choice->agent, .role = choice->role};
  store::Change change;
  if (view.session) {
    begin.session = *view.session;
  } else {
    begin.session.room = asked.room;
    if (asked.is_initial()) begin.session.room.session_id = asked.new_id();
    change.open = store::NewSession{begin.session.room, "", asked.is_initial() ? asked.key : ""};
  }
  if (begin.session.agent.empty()) {
    change.agent = begin.session.agent = choice->agent->name;
    change.conversation = begin.session.conversation = user.conversation_context_id.value_or("");
  }
  if (user.solution_context_text) {
    change.solution_context = begin.session.solution_context = *user.solution_context_text;
  }
  begin.history_until = view.newest ? view.newest->number : 0;
  begin.turn = {.turn_id = std::get<std::string>(std::move(name)), .mode = choice->role->mode};
  change.begin = store::NewTurn{begin.turn.turn_id, begin.turn.mode};
  change.request = request_of(asked, view.last_number + 1, 0);
  return {std::move(begin), std::move(change)};
}

Decision refuse_mismatch(const TurnRequest& asked, std::string message, std::string details) {
  return refuse(Reason::tool_results_mismatch, std::move(message), asked.pointer("ToolResults"),
                std::move(details));
}

// TOOL-10 to TOOL-12, in words.
Decision mismatch_of(const TurnRequest& asked, const contracts::Matching& matching) {
  constexpr std::size_t kMostTold = 50;
  const std::size_t told = std::min(matching.differences.size(), kMostTold);
  std::string details;
  for (const auto& rule : matching.broken) details += fmt::format("{} ", rule.text());
  details += fmt::format("{}: {}", asked.pointer("ToolResults"), matching.first_difference);
  for (const auto& difference : std::span(matching.differences).first(told)) {
    details += fmt::format("\n{}: {}", name_of(difference.kind), difference.id);
    if (difference.expected_at) details += fmt::format(", expected at {}", *difference.expected_at);
    if (difference.got_at) details += fmt::format(", got at {}", *difference.got_at);
  }
  if (const std::size_t more = matching.differences.size() - told; more > 0) {
    details += fmt::format("\nand {} more", more);
  }
  return refuse_mismatch(
      asked,
      fmt::format("the results do not match the calls that wait: {}. Nothing was processed; submit "
                  "one result for each call, in the order of the calls",
                  matching.first_difference),
      std::move(details));
}

// TOOL-13, and the ends that say more.
std::optional<Decision> refuse_unless_waiting(const TurnRequest& asked, const store::View& view) {
  const std::string rule = "TOOL-13 " + asked.pointer("TurnId");
  if (!view.session || !view.named) {
    return refuse_mismatch(asked, "no turn of that TurnId waits for tools in this session", rule);
  }
  const Turn& turn = *view.named;
  const auto ended = [&](Reason reason, std::string_view how) {
    return refuse(
        reason, fmt::format("turn {} {}: its tools are not waited for any more", turn.turn_id, how),
        turn.turn_id, rule);
  };
  switch (turn.state) {
    case TurnState::awaiting_tools: return std::nullopt;
    case TurnState::cancelled: return ended(Reason::turn_cancelled, "was cancelled");
    case TurnState::expired: return ended(Reason::turn_expired, "has expired");
    case TurnState::accepted:
    case TurnState::completed:
    case TurnState::failed: break;
  }
  return refuse_mismatch(asked, fmt::format("turn {} does not wait for tools", turn.turn_id), rule);
}

// on_mismatch: fail_turn. The refusal is the answer of a round of its own, so that the same
// submission again gets the same bytes.
Decision fail_turn(const TurnRequest& asked, const store::View& view, Refusal refusal,
                   const contracts::Matching& matching) {
  refusal.message = fmt::format(
      "the results do not match the calls that waited: {}. This agent ends a turn for "
      "that: send the request again as a new turn",
      matching.first_difference);
  const Outcome outcome = outcome_of(refusal, *asked.renderer, asked.request.dialect);
  const AnswerError error = error_of(refusal);
  const Turn& turn = *view.named;
  const store::Round round{.request = request_of(asked, turn.number, turn.round + 1),
                           .answer = store::AnswerRecord{
                               .round = turn.round + 1,
                               .body = outcome.body,
                               .format = std::string(asked.renderer->format()),
                               .result = encode({.answer = error, .result = result_of(error)}, {}),
                               .dialect = outcome.dialect,
                               .error_code = outcome.error_code,
                               .first_event = turn.events + 1,
                               .events = end_line(turn, turn.round + 1, TurnState::failed,
                                                  asked.now, outcome.error_code),
                               .created_at = asked.now}};
  store::Change change{.turn = turn.id};
  change.update = store::TurnUpdate{.state = TurnState::failed,
                                    .round = turn.round + 1,
                                    .error_code = outcome.error_code,
                                    .events = turn.events + 2};
  change.request = round.request;
  change.answer = round.answer;
  return {Replay{*view.session, turn, round}, std::move(change)};
}

// So many results take about a millisecond to match.
constexpr std::size_t kMatchedInside = 1'000;

Decision decide_continuation(const Settings& settings, const TurnRequest& asked,
                             const ToolContinuation& continuation, const store::View& view) {
  if (auto refusal = refuse_unless_waiting(asked, view)) return std::move(*refusal);
  const Turn& turn = *view.named;
  if (is_overdue(turn, asked.now)) return {ExpireFirst{view.session->room, turn.turn_id}};
  const auto choice = find_agent(settings, view.session->agent, view.session->conversation);
  if (!choice) return {choice.error()};

  const bool is_matched = asked.matched && asked.matched->pending == turn.pending;
  if (!is_matched && continuation.tool_results.size() > kMatchedInside) {
    return {MatchFirst{turn.pending}};
  }
  const MatchedResults here = is_matched ? MatchedResults() : match_results(asked, turn.pending);
  const contracts::Matching& matching = is_matched ? asked.matched->matching : here.matching;
  if (!matching.broken.empty()) {
    Decision decision = mismatch_of(asked, matching);
    if (choice->agent->on_mismatch == OnMismatch::fail_turn) {
      return fail_turn(asked, view, std::get<Refusal>(std::move(decision.verdict)), matching);
    }
    return decision;
  }
  Begin begin{.session = *view.session, .turn = turn, .agent = choice->agent, .role = choice->role};
  begin.turn.state = TurnState::accepted;
  begin.turn.round = turn.round + 1;
  begin.turn.has_streamed = false;
  begin.history_until = Begin::kUnknown;
  store::Change change{.turn = turn.id};
  change.update = store::TurnUpdate{
      .state = TurnState::accepted, .round = begin.turn.round, .events = turn.events};
  change.request = request_of(asked, turn.number, begin.turn.round);
  return {std::move(begin), std::move(change)};
}

// A request that failed for reasons that pass: the same round, once more.
Decision run_again(const Settings& settings, const TurnRequest& asked, const store::View& view) {
  const Turn& turn = *view.same_turn;
  // Also an older one that was repeated before: one turn at a time.
  if (view.newest && is_open(view.newest->state)) return beside_open(asked, view);
  if (view.newest && view.newest->number > turn.number) {
    return superseded(turn.turn_id, view.newest->turn_id);
  }
  const auto choice = find_agent(settings, view.session->agent, view.session->conversation);
  if (!choice) return {choice.error()};
  Begin begin{.session = *view.session, .turn = turn, .agent = choice->agent, .role = choice->role};
  begin.turn.state = TurnState::accepted;
  begin.turn.has_streamed = false;
  begin.history_until = view.newest ? view.newest->number : 0;
  if (view.same->answer) begin.earlier_events = view.same->answer->events;
  begin.diary_after = last_place(*view.same).index;
  store::Change change{.turn = turn.id};
  change.update =
      store::TurnUpdate{.state = TurnState::accepted, .round = turn.round, .events = turn.events};
  if (turn.number < view.last_number) {  // It moves behind later turns, which are dead.
    change.events = event_line({view.last_number + 1, ++begin.diary_after}, "turn.repeated",
                               asked.now, fmt::format(R"({{"Round":{}}})", turn.round));
    if (view.same->answer) begin.earlier_events += change.events;
  }
  return {std::move(begin), std::move(change)};
}

Decision decide_same(const Settings& settings, const TurnRequest& asked, const store::View& view) {
  if (view.same->request.fingerprint != asked.fingerprint) {
    return refuse(Reason::idempotency_conflict,
                  "this Idempotency-Key came with another body before: use a new key for a new "
                  "request",
                  "Idempotency-Key");
  }
  const Turn& turn = *view.same_turn;
  const bool is_newest_round = view.same->request.round == turn.round;
  if (is_newest_round && turn.state == TurnState::accepted)
    return {Running{view.session->room, turn}};
  if (is_newest_round && turn.state == TurnState::failed && turn.retryable) {
    return run_again(settings, asked, view);
  }
  return {Replay{*view.session, turn, *view.same}};
}

}  // namespace

TurnRequest ask(std::string tenant, contracts::AgentExecuteRequest request,
                const std::optional<std::string>& idempotency_key, store::Milliseconds now) {
  contracts::AgentExecuteRequest canonical = request;
  canonical.dialect = contracts::Dialect::pascal;
  if (auto* user = std::get_if<UserTurn>(&canonical.scenario)) user->streaming = false;
  const auto* asks = std::get_if<UserTurn>(&request.scenario);
  const bool streams = asks != nullptr && asks->streaming;
  TurnRequest asked{.room = {std::move(tenant), request.session_id},
                    .request = std::move(request),
                    .key = {},
                    .fingerprint = {},
                    .body = contracts::encode(canonical),
                    .new_id = new_uuid,
                    .now = now,
                    .streams = streams};
  asked.fingerprint = sha256({asked.body});
  if (idempotency_key) {
    asked.key = sha256({"key", asked.request.session_id, asked.request.turn_id, *idempotency_key});
  } else if (asked.is_initial()) {
    asked.key = sha256({"once", new_uuid()});  // Without ids nothing says that two are the same.
  } else {
    asked.key = asked.fingerprint;
  }
  return asked;
}

std::expected<Chosen, Refusal> find_agent(const Settings& settings, std::string_view name,
                                          std::string_view conversation) {
  const Agent* agent = settings.find_agent(name);
  if (agent == nullptr) {
    return std::unexpected(
        Refusal{Reason::agent_not_found,
                fmt::format("there is no agent {}: name one of {} in AgentContextId", name,
                            names_of(settings)),
                std::string(name)});
  }
  const AgentRole* role = agent->find_role(conversation);
  if (role == nullptr) {
    return std::unexpected(
        Refusal{Reason::agent_not_found,
                fmt::format("agent {} has no conversation {}", agent->name, conversation),
                std::string(conversation)});
  }
  return Chosen{agent, role};
}

Decision decide(const Settings& settings, const TurnRequest& asked, const store::View& view) {
  if (view.same) return decide_same(settings, asked, view);
  if (const auto* user = std::get_if<UserTurn>(&asked.request.scenario)) {
    return decide_user_turn(settings, asked, *user, view);
  }
  return decide_continuation(settings, asked, std::get<ToolContinuation>(asked.request.scenario),
                             view);
}

MatchedResults match_results(const TurnRequest& asked, std::string pending) {
  const auto& results = std::get<ToolContinuation>(asked.request.scenario).tool_results;
  std::vector<std::string> got;
  got.reserve(results.size());
  for (const auto& result : results) got.push_back(result.tool_call_id);
  auto matching = contracts::match_tool_results(pending_ids(pending), got);
  return {std::move(pending), std::move(matching)};
}

std::vector<AnswerError> warnings_of(const store::RequestRecord& request) {
  std::vector<AnswerError> warnings;
  const json::Document line(std::string_view(request.events).substr(0, request.events.find('\n')));
  const auto data = json::find_member(line.root(), "data");
  const auto found = json::find_member(data, "Warnings");
  if (!found || !found->is_array()) return warnings;
  for (const json::Value warning : found->elements()) warnings.push_back(read_warning(warning));
  return warnings;
}

std::string encode_pending(const std::vector<contracts::ToolCall>& calls) {
  json::Writer writer;
  writer.array(calls, [&](const auto& call) { write(writer, call, contracts::Dialect::pascal); });
  return writer.take();
}

std::vector<std::string> pending_ids(std::string_view pending) {
  std::vector<std::string> ids;
  const json::Document document(pending);
  if (!document.root() || !document.root()->is_array()) return ids;
  for (const json::Value call : document.root()->elements()) {
    ids.emplace_back(json::find_text(call, "ToolCallId"));
  }
  return ids;
}

Turn as_of(Turn turn, store::Milliseconds now) {
  if (!is_overdue(turn, now)) return turn;
  turn.state = TurnState::expired;
  turn.pending.clear();
  turn.error_code = code_of(Reason::turn_expired);
  return turn;
}

store::Change end_waiting(const Turn& turn, store::Milliseconds now) {
  const bool expired = is_overdue(turn, now);
  const TurnState state = expired ? TurnState::expired : TurnState::cancelled;
  const std::string code(code_of(expired ? Reason::turn_expired : Reason::turn_cancelled));
  store::Change change{.turn = turn.id};
  change.update = store::TurnUpdate{
      .state = state, .round = turn.round, .error_code = code, .events = turn.events};
  change.events = end_line(turn, turn.round, state, now, code);
  return change;
}

}  // namespace treaty::turns
