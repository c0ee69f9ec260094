// The turns of a room: listed, shown, cancelled, told to an assistant.
#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/paging.h"
#include "treaty/api/records_json.h"
#include "treaty/turns/assistant_view.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

Refusal unknown_session(const Visit& visit) {
  return {Reason::session_not_found, "there is no such session; POST /v1/sessions opens one",
          visit.names.at(0)};
}

// Tells an unknown turn from an unknown session.
boost::asio::awaitable<std::expected<store::TurnRecord, Refusal>> find_turn(const Visit& visit) {
  store::Store& store = visit.engine.store();
  auto record = co_await store.find_turn(visit.room(), visit.turn_id());
  if (!record) co_return std::unexpected(refusal_of(record.error()));
  if (*record) {
    (*record)->turn = turns::as_of(std::move((*record)->turn), visit.engine.now());
    co_return std::move(**record);
  }
  const auto session = co_await store.find_session(visit.room());
  if (!session) co_return std::unexpected(refusal_of(session.error()));
  if (!*session) co_return std::unexpected(unknown_session(visit));
  co_return std::unexpected(Refusal{Reason::turn_not_found,
                                    "the session has no such turn; GET its /turns lists them",
                                    visit.turn_id()});
}

}  // namespace

Reply list_turns(const Visit& visit) {
  const auto limit = limit_in(visit.target);
  if (!limit) co_return refusal_response(limit.error());
  const auto after = number_in(visit.target, "after", 0, 0, INT64_MAX);
  if (!after) co_return refusal_response(after.error());
  store::Store& store = visit.engine.store();
  const auto session = co_await store.find_session(visit.room());
  if (!session) co_return refusal_response(refusal_of(session.error()));
  if (!*session) co_return refusal_response(unknown_session(visit));
  const auto turns = co_await store.list_turns((*session)->id, *after, *limit + 1);
  if (!turns) co_return refusal_response(refusal_of(turns.error()));
  co_return page_response("Turns", *turns, *limit, [&](json::Writer& writer, const auto& turn) {
    write_turn(writer, visit.names.at(0), turns::as_of(turn, visit.engine.now()));
  });
}

Reply show_turn(const Visit& visit) {
  const auto record = co_await find_turn(visit);
  if (!record) co_return refusal_response(record.error());
  json::Writer writer;
  write_turn(writer, visit.names.at(0), *record);
  co_return json_response(200, writer.take());
}

Reply cancel_turn(const Visit& visit) {
  if (const auto nothing = read_texts(visit.request().body, {}); !nothing) {
    co_return refusal_response(nothing.error());
  }
  const auto state = co_await visit.engine.cancel(visit.worker, visit.room(), visit.turn_id());
  if (!state) co_return refusal_response(state.error());
  json::Writer writer;
  writer.begin_object().member("SessionId", visit.names.at(0)).member("TurnId", visit.turn_id());
  writer.member("State", shown_state(*state));
  co_return json_response(200, writer.end_object().take());
}

Reply show_assistant(const Visit& visit) {
  const auto record = co_await find_turn(visit);
  if (!record) co_return refusal_response(record.error());
  const auto view = turns::assistant_view(*record, visit.request().headers.get("traceparent"));
  co_return json_response(200, contracts::encode(view));
}

}  // namespace treaty::api
