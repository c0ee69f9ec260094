// Sessions and their turns: opened, listed, shown, branched, cancelled, deleted.
#include <charconv>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/negotiation.h"
#include "treaty/api/records_json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/turns/assistant_view.h"

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
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  if (whole && number >= least && number <= most) return number;
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
store::Task<std::string> newest_turn_of(store::Store& store, const store::Session& session) {
  if (session.turns == 0) co_return session.opening_turn;
  TREATY_CO_TRY(const auto turns, co_await store.list_turns(session.id, session.turns - 1, 1));
  co_return turns.empty() ? std::string() : turns.back().turn_id;
}

// The place in the list that `before` names: 0 is its beginning.
boost::asio::awaitable<std::expected<std::int64_t, Refusal>> place_of(
    const RequestContext& context) {
  const auto before = context.target.parameter("before");
  if (!before) co_return 0;
  const auto session =
      co_await context.engine.store().find_session({context.tenant, std::string(*before)});
  if (!session) co_return std::unexpected(refusal_of(session.error()));
  if (!*session) {
    co_return std::unexpected(wrong_value("before names no session; leave it out", "before"));
  }
  co_return (*session)->id;
}

// --- Turns

// Tells an unknown turn from an unknown session.
boost::asio::awaitable<std::expected<store::TurnRecord, Refusal>> find_turn(
    const RequestContext& context) {
  store::Store& store = context.engine.store();
  auto record = co_await store.find_turn(context.room(), context.turn_id());
  if (!record) co_return std::unexpected(refusal_of(record.error()));
  if (*record) {
    (*record)->turn = turns::as_of(std::move((*record)->turn), context.engine.now());
    co_return std::move(**record);
  }
  const auto session = co_await store.find_session(context.room());
  if (!session) co_return std::unexpected(refusal_of(session.error()));
  if (!*session) co_return std::unexpected(unknown_session(context));
  co_return std::unexpected(Refusal{Reason::turn_not_found,
                                    "the session has no such turn; GET its /turns lists them",
                                    context.turn_id()});
}

}  // namespace

Reply open_session(const RequestContext& context) {
  if (const auto json = require_json(context.request().headers); !json) {
    co_return refusal_response(json.error());
  }
  const auto texts =
      read_texts(context.request().body, {"AgentContextId", "ConversationContextId"});
  if (!texts) co_return refusal_response(texts.error());
  const auto opened = co_await context.engine.open_session(
      context.worker, context.tenant, text_or_empty(*texts, "AgentContextId"),
      text_or_empty(*texts, "ConversationContextId"));
  co_return opened ? opened_response(*opened) : refusal_response(opened.error());
}

Reply branch_session(const RequestContext& context) {
  if (const auto json = require_json(context.request().headers); !json) {
    co_return refusal_response(json.error());
  }
  const auto texts = read_texts(context.request().body, {"TurnId"});
  if (!texts) co_return refusal_response(texts.error());
  const auto opened = co_await context.engine.branch(context.worker, context.room(),
                                                     text_or_empty(*texts, "TurnId"));
  co_return opened ? opened_response(*opened) : refusal_response(opened.error());
}

Reply list_sessions(const RequestContext& context) {
  const auto limit = limit_in(context.target);
  if (!limit) co_return refusal_response(limit.error());
  const auto before = co_await place_of(context);
  if (!before) co_return refusal_response(before.error());
  const auto sessions = co_await context.engine.store().list_sessions(
      {.tenant = context.tenant, .before = *before, .limit = *limit + 1});
  if (!sessions) co_return refusal_response(refusal_of(sessions.error()));
  co_return page_response(
      "Sessions", *sessions, *limit,
      [](json::Writer& writer, const auto& session) { write_session(writer, session); });
}

Reply show_session(const RequestContext& context) {
  const auto session = co_await context.engine.store().find_session(context.room());
  if (!session) co_return refusal_response(refusal_of(session.error()));
  if (!*session) co_return refusal_response(unknown_session(context));
  const auto newest = co_await newest_turn_of(context.engine.store(), **session);
  if (!newest) co_return refusal_response(refusal_of(newest.error()));
  json::Writer writer;
  write_session(writer, **session, *newest);
  co_return json_response(200, writer.take());
}

Reply delete_session(const RequestContext& context) {
  const auto session = co_await context.engine.store().find_session(context.room());
  const auto deleted = co_await context.engine.store().delete_session(context.room());
  if (!deleted && deleted.error().code == ErrorCode::conflict) {
    co_return refusal_response({Reason::turn_in_progress,
                                "a turn of this session runs; cancel it first, or wait for its end",
                                context.names.at(0)});
  }
  if (!deleted) co_return refusal_response(refusal_of(deleted.error()));
  if (!*deleted) co_return refusal_response(unknown_session(context));
  // Who follows its diary looks again, and finds no session.
  if (session && *session) context.engine.diary_notifier((*session)->id)->notify_all();
  co_return http::Response{.status = 204, .headers = {{"cache-control", "no-store"}}};
}

Reply list_turns(const RequestContext& context) {
  const auto limit = limit_in(context.target);
  if (!limit) co_return refusal_response(limit.error());
  const auto after = number_in(context.target, "after", 0, 0, INT64_MAX);
  if (!after) co_return refusal_response(after.error());
  store::Store& store = context.engine.store();
  const auto session = co_await store.find_session(context.room());
  if (!session) co_return refusal_response(refusal_of(session.error()));
  if (!*session) co_return refusal_response(unknown_session(context));
  const auto turns = co_await store.list_turns((*session)->id, *after, *limit + 1);
  if (!turns) co_return refusal_response(refusal_of(turns.error()));
  co_return page_response("Turns", *turns, *limit, [&](json::Writer& writer, const auto& turn) {
    write_turn(writer, context.names.at(0), turns::as_of(turn, context.engine.now()));
  });
}

Reply show_turn(const RequestContext& context) {
  const auto record = co_await find_turn(context);
  if (!record) co_return refusal_response(record.error());
  json::Writer writer;
  write_turn(writer, context.names.at(0), *record);
  co_return json_response(200, writer.take());
}

Reply cancel_turn(const RequestContext& context) {
  if (const auto nothing = read_texts(context.request().body, {}); !nothing) {
    co_return refusal_response(nothing.error());
  }
  const auto state =
      co_await context.engine.cancel(context.worker, context.room(), context.turn_id());
  if (!state) co_return refusal_response(state.error());
  json::Writer writer;
  writer.begin_object()
      .member("SessionId", context.names.at(0))
      .member("TurnId", context.turn_id());
  writer.member("State", shown_state(*state));
  co_return json_response(200, writer.end_object().take());
}

Reply show_assistant(const RequestContext& context) {
  const auto record = co_await find_turn(context);
  if (!record) co_return refusal_response(record.error());
  const auto view = turns::assistant_view(*record, context.request().headers.get("traceparent"));
  co_return json_response(200, contracts::encode(view));
}

}  // namespace treaty::api
