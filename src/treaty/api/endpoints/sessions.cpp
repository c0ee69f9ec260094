// Sessions and their turns: opened, listed, shown, branched, cancelled, deleted.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/negotiation.h"
#include "treaty/api/records_json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/pieces.h"
#include "treaty/base/try.h"
#include "treaty/turns/views/agent_view.h"
#include "treaty/turns/views/assistant_view.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

// --- Lists in pages: how many, and whether there are more.

constexpr std::int64_t kLongestPage = 1'000;

// A whole number of at least `least` and at most `most`.
std::expected<std::int64_t, turns::Refusal> number_in(const Target& target, std::string_view name,
                                                      std::int64_t otherwise, std::int64_t least,
                                                      std::int64_t most) {
  const auto text = target.parameter(name);
  if (!text) return otherwise;
  const auto number = parse_number<std::int64_t>(*text);
  if (number && *number >= least && *number <= most) return *number;
  return std::unexpected(wrong_value(std::string(name) + " is a whole number from " +
                                         std::to_string(least) + " to " + std::to_string(most),
                                     std::string(name)));
}

std::expected<std::size_t, turns::Refusal> limit_in(const Target& target) {
  TREATY_TRY(const auto limit, number_in(target, "limit", 100, 1, kLongestPage));
  return static_cast<std::size_t>(limit);
}

// `entries` has one more than `limit` when there are more.
template <class Entry, class Write>
http::Response page_response(std::string_view name, const std::vector<Entry>& entries,
                             std::size_t limit, Write write) {
  json::Writer writer;
  writer.begin_object().name(name).begin_array();
  for (std::size_t i = 0; i < entries.size() && i < limit; ++i) write(writer, entries[i]);
  writer.end_array().member("HasMore", entries.size() > limit);
  return json_response(200, writer.end_object().take());
}

// --- Sessions

http::Response opened_response(const turns::OpenedSession& opened) {
  json::Writer writer;
  writer.begin_object();
  writer.member("SessionId", opened.session_id).member("TurnId", opened.turn_id);
  http::Response response = json_response(201, writer.end_object().take());
  response.headers.set("location", "/v1/sessions/" + path_segment(opened.session_id));
  return response;
}

Refusal unknown_session(const RequestContext& context) {
  return {Reason::session_not_found, "there is no such session; POST /v1/sessions opens one",
          context.names.at(0)};
}

std::string text_or_empty(const std::map<std::string, std::string, std::less<>>& texts,
                          std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

// The turn that the next one follows; empty when there is none yet.
const std::string& newest_turn_of(const store::Session& session) {
  return session.turns == 0 ? session.opening_turn : session.last_turn;
}

// The place in the list that `before` names: 0 is its beginning.
Refusable<std::int64_t> place_of(const RequestContext& context) {
  const auto before = context.target.parameter("before");
  if (!before) co_return 0;
  TREATY_CO_TRY(
      const auto session,
      stored(co_await context.engine.store().find_session({context.tenant, std::string(*before)})));
  if (session) co_return session->id;
  co_return std::unexpected(wrong_value("before names no session; leave it out", "before"));
}

// --- Turns

// Tells an unknown turn from an unknown session.
Refusable<store::TurnRecord> find_turn(const RequestContext& context) {
  TREATY_CO_TRY(auto record, stored(co_await context.engine.store().find_turn(context.room(),
                                                                              context.turn_id())));
  if (record) {
    record->turn = turns::as_of(std::move(record->turn), context.engine.now());
    co_return *std::move(record);
  }
  TREATY_CO_TRY_VOID(co_await find_session(context));
  co_return std::unexpected(Refusal{Reason::turn_not_found,
                                    "the session has no such turn; GET its /turns lists them",
                                    context.turn_id()});
}

}  // namespace

Refusable<store::Session> find_session(const RequestContext& context) {
  TREATY_CO_TRY(auto session, stored(co_await context.engine.store().find_session(context.room())));
  if (!session) co_return std::unexpected(unknown_session(context));
  co_return *std::move(session);
}

Reply open_session(const RequestContext& context) {
  TREATY_CO_TRY_VOID(require_json(context.request().headers));
  TREATY_CO_TRY(const auto texts,
                read_texts(context.request().body, {"AgentContextId", "ConversationContextId"}));
  TREATY_CO_TRY(const auto opened,
                co_await context.engine.open_session(
                    context.worker, context.tenant, text_or_empty(texts, "AgentContextId"),
                    text_or_empty(texts, "ConversationContextId")));
  co_return opened_response(opened);
}

Reply branch_session(const RequestContext& context) {
  TREATY_CO_TRY_VOID(require_json(context.request().headers));
  TREATY_CO_TRY(const auto texts, read_texts(context.request().body, {"TurnId"}));
  TREATY_CO_TRY(const auto opened, co_await context.engine.branch(context.worker, context.room(),
                                                                  text_or_empty(texts, "TurnId")));
  co_return opened_response(opened);
}

Reply list_sessions(const RequestContext& context) {
  TREATY_CO_TRY(const std::size_t limit, limit_in(context.target));
  TREATY_CO_TRY(const std::int64_t before, co_await place_of(context));
  TREATY_CO_TRY(const auto sessions,
                stored(co_await context.engine.store().list_sessions(
                    {.tenant = context.tenant, .before = before, .limit = limit + 1})));
  co_return page_response(
      "Sessions", sessions, limit,
      [](json::Writer& writer, const auto& session) { write_session(writer, session); });
}

Reply show_session(const RequestContext& context) {
  TREATY_CO_TRY(const store::Session session, co_await find_session(context));
  json::Writer writer;
  write_session(writer, session, newest_turn_of(session));
  co_return json_response(200, writer.take());
}

Reply delete_session(const RequestContext& context) {
  const auto session = co_await context.engine.store().find_session(context.room());
  const auto deleted = co_await context.engine.store().delete_session(context.room());
  if (!deleted && deleted.error().code == ErrorCode::conflict) {
    co_return std::unexpected(Refusal{
        Reason::turn_in_progress,
        "a turn of this session runs; cancel it first, or wait for its end", context.names.at(0)});
  }
  if (!deleted) co_return std::unexpected(refusal_of(deleted.error()));
  if (!*deleted) co_return std::unexpected(unknown_session(context));
  // Who follows its diary looks again, and finds no session.
  if (session && *session) context.engine.diary_notifier((*session)->id)->notify_all();
  // Not waited for: a large session takes long. What fails is tried again by the server's sweep.
  boost::asio::co_spawn(context.worker.executor, context.engine.store().delete_leftovers(),
                        boost::asio::detached);
  co_return http::Response{.status = 204, .headers = {{"cache-control", "no-store"}}};
}

Reply list_turns(const RequestContext& context) {
  TREATY_CO_TRY(const std::size_t limit, limit_in(context.target));
  TREATY_CO_TRY(const std::int64_t after, number_in(context.target, "after", 0, 0, INT64_MAX));
  TREATY_CO_TRY(const store::Session session, co_await find_session(context));
  TREATY_CO_TRY(const auto turns,
                stored(co_await context.engine.store().list_turns(session.id, after, limit + 1)));
  co_return page_response("Turns", turns, limit, [&](json::Writer& writer, const auto& turn) {
    write_turn(writer, context.names.at(0), turns::as_of(turn, context.engine.now()));
  });
}

Reply show_turn(const RequestContext& context) {
  TREATY_CO_TRY(const store::TurnRecord record, co_await find_turn(context));
  json::Writer writer;
  write_turn(writer, context.names.at(0), record);
  co_return json_response(200, writer.take());
}

Reply cancel_turn(const RequestContext& context) {
  TREATY_CO_TRY_VOID(read_texts(context.request().body, {}));
  TREATY_CO_TRY(const store::TurnState state,
                co_await context.engine.cancel(context.worker, context.room(), context.turn_id()));
  json::Writer writer;
  writer.begin_object()
      .member("SessionId", context.names.at(0))
      .member("TurnId", context.turn_id())
      .member("State", shown_state(state));
  co_return json_response(200, writer.end_object().take());
}

Reply show_assistant(const RequestContext& context) {
  TREATY_CO_TRY(const store::TurnRecord record, co_await find_turn(context));
  const auto view =
      turns::assistant_view(context.room(), record, context.request().headers.get("traceparent"));
  co_return json_response(200, contracts::encode(view));
}

Reply show_agent_result(const RequestContext& context) {
  TREATY_CO_TRY(const store::TurnRecord record, co_await find_turn(context));
  const auto result = turns::agent_view(record);
  if (result) co_return json_response(200, contracts::encode(*result));
  if (store::is_open(record.turn.state)) {
    co_return std::unexpected(Refusal{Reason::turn_in_progress,
                                      "the turn still runs; ask again when it has ended",
                                      context.turn_id()});
  }
  co_return std::unexpected(
      Refusal{Reason::not_found, "the journal has no AgentResult of this turn", context.turn_id()});
}

}  // namespace treaty::api
