// The rooms: opened, listed, shown, branched, deleted.
#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/negotiation.h"
#include "treaty/api/paging.h"
#include "treaty/api/records_json.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

http::Response opened_response(const turns::OpenedSession& opened) {
  json::Writer writer;
  writer.begin_object();
  writer.member("SessionId", opened.session_id).member("TurnId", opened.turn_id);
  http::Response response = json_response(201, writer.end_object().take());
  response.headers.set("location", "/v1/sessions/" + path_segment(opened.session_id));
  return response;
}

http::Response unknown_session(const std::string& session_id) {
  return refusal_response({Reason::session_not_found,
                           "there is no such session; POST /v1/sessions opens one", session_id});
}

std::string text_or_empty(const std::map<std::string, std::string, std::less<>>& texts,
                          std::string_view name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

// The turn that the next one follows; empty when there is none yet.
store::Task<std::string> newest_turn_of(store::Store& store, const store::Session& session) {
  if (session.turns == 0) co_return session.opening_turn;
  const auto turns = co_await store.list_turns(session.id, session.turns - 1, 1);
  if (!turns) co_return std::unexpected(turns.error());
  co_return turns->empty() ? std::string() : turns->back().turn_id;
}

// The place in the list that `before` names: 0 is its beginning.
boost::asio::awaitable<std::expected<std::int64_t, Refusal>> place_of(const Visit& visit) {
  const auto before = visit.target.parameter("before");
  if (!before) co_return 0;
  const auto session =
      co_await visit.engine.store().find_session({visit.tenant, std::string(*before)});
  if (!session) co_return std::unexpected(refusal_of(session.error()));
  if (!*session) {
    co_return std::unexpected(wrong_value("before names no session; leave it out", "before"));
  }
  co_return (*session)->id;
}

}  // namespace

Reply open_session(const Visit& visit) {
  if (const auto json = require_json(visit.request().headers); !json) {
    co_return refusal_response(json.error());
  }
  const auto texts = read_texts(visit.request().body, {"AgentContextId", "ConversationContextId"});
  if (!texts) co_return refusal_response(texts.error());
  const auto opened = co_await visit.engine.open_session(
      visit.worker, visit.tenant, text_or_empty(*texts, "AgentContextId"),
      text_or_empty(*texts, "ConversationContextId"));
  co_return opened ? opened_response(*opened) : refusal_response(opened.error());
}

Reply branch_session(const Visit& visit) {
  if (const auto json = require_json(visit.request().headers); !json) {
    co_return refusal_response(json.error());
  }
  const auto texts = read_texts(visit.request().body, {"TurnId"});
  if (!texts) co_return refusal_response(texts.error());
  const auto opened =
      co_await visit.engine.branch(visit.worker, visit.room(), text_or_empty(*texts, "TurnId"));
  co_return opened ? opened_response(*opened) : refusal_response(opened.error());
}

Reply list_sessions(const Visit& visit) {
  const auto limit = limit_in(visit.target);
  if (!limit) co_return refusal_response(limit.error());
  const auto before = co_await place_of(visit);
  if (!before) co_return refusal_response(before.error());
  const auto sessions = co_await visit.engine.store().list_sessions(
      {.tenant = visit.tenant, .before = *before, .limit = *limit + 1});
  if (!sessions) co_return refusal_response(refusal_of(sessions.error()));
  co_return page_response(
      "Sessions", *sessions, *limit,
      [](json::Writer& writer, const auto& session) { write_session(writer, session); });
}

Reply show_session(const Visit& visit) {
  const auto session = co_await visit.engine.store().find_session(visit.room());
  if (!session) co_return refusal_response(refusal_of(session.error()));
  if (!*session) co_return unknown_session(visit.names.at(0));
  const auto newest = co_await newest_turn_of(visit.engine.store(), **session);
  if (!newest) co_return refusal_response(refusal_of(newest.error()));
  json::Writer writer;
  write_session(writer, **session, *newest);
  co_return json_response(200, writer.take());
}

Reply delete_session(const Visit& visit) {
  const auto session = co_await visit.engine.store().find_session(visit.room());
  const auto deleted = co_await visit.engine.store().delete_session(visit.room());
  if (!deleted && deleted.error().code == ErrorCode::conflict) {
    co_return refusal_response({Reason::turn_in_progress,
                                "a turn of this session runs; cancel it first, or wait for its end",
                                visit.names.at(0)});
  }
  if (!deleted) co_return refusal_response(refusal_of(deleted.error()));
  if (!*deleted) co_return unknown_session(visit.names.at(0));
  // Who follows its diary looks again, and finds no session.
  if (session && *session) visit.engine.diary_notifier((*session)->id)->notify_all();
  co_return http::Response{.status = 204, .headers = {{"cache-control", "no-store"}}};
}

}  // namespace treaty::api
