#include "treaty/api/endpoints/streams.h"

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/http/event_stream.h"

namespace treaty::api {
namespace {

using namespace std::chrono_literals;
using contracts::spelled;

struct Named {
  std::string_view name;
  std::string data;
};

Named named(const turns::Opening& opening, const turns::Renderer&, contracts::Dialect dialect) {
  json::Writer writer;
  writer.begin_object();
  writer.member(spelled("SessionId", dialect), opening.session_id);
  writer.member(spelled("TurnId", dialect), opening.turn_id);
  writer.member(spelled("ModeDisplayName", dialect), opening.mode);
  return {"turn.started", writer.end_object().take()};
}

Named named(const turns::Delta& delta, const turns::Renderer&, contracts::Dialect dialect) {
  json::Writer writer;
  writer.begin_object().member(spelled("DeltaText", dialect), delta.text);
  return {"output.delta", writer.end_object().take()};
}

Named named(const std::shared_ptr<const turns::Outcome>& outcome, const turns::Renderer& renderer,
            contracts::Dialect dialect) {
  return {"turn.result", outcome->body_for(renderer, dialect)};
}

void append_id(std::string& out, std::int64_t id) {
  out.append("id: ").append(std::to_string(id)).append("\n");
}

constexpr std::chrono::milliseconds kSilence = 15s;
constexpr std::size_t kPiece = std::size_t{64} << 10U;  // Bytes that are written together.

// A long text, a piece at a time: no reader, however slow, has a copy of its own of all of it.
boost::asio::awaitable<bool> write_in_pieces(http::Exchange& exchange, std::string_view text) {
  while (!text.empty()) {
    if (!co_await exchange.write(text.substr(0, kPiece))) co_return false;
    text.remove_prefix(std::min(kPiece, text.size()));
  }
  co_return true;
}

// Everything that is there after `last_id`, which moves on. False: the client is gone.
boost::asio::awaitable<bool> send_what_is_there(http::Exchange& exchange, turns::TurnLog& log,
                                                std::int64_t& last_id, TurnText& text,
                                                bool& has_ended) {
  const bool is_complete = log.outcome_now() != nullptr;  // Asked first: nothing is added later.
  const std::vector<turns::StreamEvent> events = log.after(last_id);
  if (is_complete && events.empty()) has_ended = true;  // The client named an event of the future.
  std::string piece;
  for (const turns::StreamEvent& event : events) {
    if (const turns::Outcome* outcome = text.begin_result(piece, event)) {
      last_id = event.id;
      has_ended = true;
      co_return co_await exchange.write(piece) &&
          co_await write_in_pieces(exchange, outcome->body) && co_await exchange.write("\n\n");
    }
    text.append(piece, event);
    last_id = event.id;
    has_ended = is_result(event);
    const bool is_last = &event == &events.back();
    if (!is_last && piece.size() < kPiece) continue;
    if (!co_await exchange.write(piece)) co_return false;
    piece.clear();
  }
  co_return true;
}

// The dialect of the round: that of its answer, or of the request that is being answered.
boost::asio::awaitable<contracts::Dialect> dialect_of(const RequestContext& context,
                                                      const turns::TurnLog& log) {
  if (const auto outcome = log.outcome_now()) co_return outcome->dialect;
  const auto record = co_await context.engine.store().find_turn(context.room(), context.turn_id());
  const bool there = record && *record && !(*record)->rounds.empty();
  co_return there ? (*record)->rounds.back().request.dialect : contracts::Dialect::pascal;
}

struct Followed {
  std::shared_ptr<turns::TurnLog> log{};  // Null: there is nothing to follow.
  std::int64_t last_id = 0;
  contracts::Dialect dialect = contracts::Dialect::pascal;
};

Refusable<Followed> find_followed(const RequestContext& context) {
  TREATY_CO_TRY(const auto last_id, last_event_id_in(context.request().headers, context.target));
  TREATY_CO_TRY(auto log, co_await context.engine.follow(context.worker, context.room(),
                                                         context.turn_id(), last_id));
  Followed followed{.log = std::move(log)};
  if (!followed.log) co_return followed;
  followed.last_id = last_id.value_or(0);
  followed.dialect = co_await dialect_of(context, *followed.log);
  co_return followed;
}

http::Response empty_response() {
  return {.status = 204, .headers = {{"cache-control", "no-store"}}};
}

http::Response head_of_stream(StreamForm form) {
  return {.status = 200, .headers = stream_headers(form)};
}

// False: the client is gone.
boost::asio::awaitable<bool> send_entries(const RequestContext& context,
                                          const std::vector<turns::DiaryEvent>& entries,
                                          std::int64_t& last_id) {
  std::string piece;
  for (const turns::DiaryEvent& entry : entries) {
    append_event(piece, entry);
    last_id = entry.id;
    if (piece.size() < kPiece) continue;
    if (!co_await context.exchange.write(piece)) co_return false;
    piece.clear();
  }
  co_return piece.empty() || co_await context.exchange.write(piece);
}

enum class Diary {
  went_on,
  was_silent,
  has_ended,  // With the client, the session or the store.
};

boost::asio::awaitable<Diary> send_next_entries(const RequestContext& context,
                                                std::int64_t& last_id) {
  const auto entries = co_await context.engine.events(context.worker, context.room(), last_id, 0ms);
  if (!entries) co_return Diary::has_ended;
  if (entries->empty()) co_return Diary::was_silent;
  const bool sent = co_await send_entries(context, *entries, last_id);
  co_return sent ? Diary::went_on : Diary::has_ended;
}

// Where a diary goes on, and what tells that it does.
struct OpenDiary {
  std::int64_t last_id = 0;
  bool once = false;  // Only what is there now.
  std::shared_ptr<Notifier> notifier{};
};

Refusable<OpenDiary> open_diary(const RequestContext& context) {
  TREATY_CO_TRY(const auto last_id, last_event_id_in(context.request().headers, context.target));
  TREATY_CO_TRY(const bool once, is_second_word(context.target, "follow", "true", "false"));
  TREATY_CO_TRY(const store::Session session, co_await find_session(context));
  co_return OpenDiary{last_id.value_or(0), once, context.engine.diary_notifier(session.id)};
}

// The head. Nothing when there is no more to say.
boost::asio::awaitable<std::optional<OpenDiary>> begin_diary(const RequestContext& context) {
  auto diary = co_await open_diary(context);
  if (!diary || context.is_head()) {
    co_await context.exchange.respond(diary ? head_of_stream(StreamForm::events)
                                            : refusal_response(diary.error(), context.renderer));
    co_return std::nullopt;
  }
  if (!co_await context.exchange.begin(200, stream_headers(StreamForm::events))) {
    co_return std::nullopt;
  }
  if (!diary->once) co_return std::move(*diary);
  while (co_await send_next_entries(context, diary->last_id) == Diary::went_on) {
  }
  co_await context.exchange.end();
  co_return std::nullopt;
}

}  // namespace

bool is_result(const turns::StreamEvent& event) {
  return std::holds_alternative<std::shared_ptr<const turns::Outcome>>(event.what);
}

Headers stream_headers(StreamForm form) {
  // The last one keeps nginx from collecting what shall leave at once.
  return {
      {"content-type", form == StreamForm::lines ? "application/x-ndjson" : "text/event-stream"},
      {"cache-control", "no-store"},
      {"x-accel-buffering", "no"}};
}

void TurnText::append(std::string& out, const turns::StreamEvent& event) const {
  form_ == StreamForm::lines ? append_line(out, event) : append_event(out, event);
}

const turns::Outcome* TurnText::begin_result(std::string& out,
                                             const turns::StreamEvent& event) const {
  const auto* result = std::get_if<std::shared_ptr<const turns::Outcome>>(&event.what);
  if (result == nullptr || form_ != StreamForm::events || (*result)->dialect != dialect_ ||
      (*result)->renderer != &renderer_ || (*result)->body.contains('\n')) {
    return nullptr;
  }
  append_id(out, event.id);
  out += "event: turn.result\ndata: ";
  return result->get();
}

void TurnText::append_event(std::string& out, const turns::StreamEvent& event) const {
  const Named text =
      std::visit([&](const auto& what) { return named(what, renderer_, dialect_); }, event.what);
  append_id(out, event.id);
  out += http::event_bytes(text.name, text.data);
}

// The names of these members are the same in both dialects.
void TurnText::append_line(std::string& out, const turns::StreamEvent& event) const {
  json::Writer writer;
  writer.begin_object();
  if (const auto* delta = std::get_if<turns::Delta>(&event.what)) {
    writer.member("kind", "partial").member("deltaText", delta->text).member("index", event.index);
  } else if (is_result(event)) {
    const auto& outcome = std::get<std::shared_ptr<const turns::Outcome>>(event.what);
    writer.member("kind", "final").member("index", event.index);
    writer.name("final").raw(outcome->body_for(renderer_, dialect_));
  } else {
    return;  // Who has started stands in the final line.
  }
  out += writer.end_object().take() + "\n";
}

void append_event(std::string& out, const turns::DiaryEvent& event) {
  append_id(out, event.id);
  out += http::event_bytes(event.kind, event.data);
}

boost::asio::awaitable<News> wait_for_news(http::Exchange& exchange, turns::TurnLog& log,
                                           std::int64_t last_id, std::chrono::milliseconds patience,
                                           Watch watch) {
  using Until = http::Exchange::Until;
  exchange.interrupt_when(watch == Watch::close ? Until::client_goes : Until::connection_breaks);
  const bool came = co_await log.wait(last_id, patience);
  if (!exchange.is_wanted()) co_return News::is_gone;
  co_return came ? News::some : News::none;
}

boost::asio::awaitable<bool> send_stream(http::Exchange& exchange, turns::TurnLog& log,
                                         std::int64_t last_id, TurnText text, Watch watch) {
  if (!co_await exchange.begin(200, stream_headers(text.form()))) co_return false;
  for (bool has_ended = false; !has_ended;) {
    if (!co_await send_what_is_there(exchange, log, last_id, text, has_ended)) co_return false;
    if (has_ended) break;
    const News news = co_await wait_for_news(exchange, log, last_id, kSilence, watch);
    if (news == News::is_gone) co_return false;
    // Lines of JSON have no comments.
    const bool quiet = news == News::none && text.form() == StreamForm::events;
    if (quiet && !co_await exchange.write(kStillHere)) co_return false;
  }
  co_return co_await exchange.end();
}

Conversation follow_turn(RequestContext context) {
  const auto followed = co_await find_followed(context);
  if (!followed) {
    co_await context.exchange.respond(refusal_response(followed.error(), context.renderer));
    co_return;
  }
  const StreamForm form = stream_form_in(context.request().headers).value_or(StreamForm::events);
  if (!followed->log) {
    co_await context.exchange.respond(empty_response());
  } else if (context.is_head()) {
    co_await context.exchange.respond(head_of_stream(form));
  } else {
    const turns::TurnLog::Following following(*followed->log);
    co_await send_stream(context.exchange, *followed->log, followed->last_id,
                         TurnText(form, context.renderer, followed->dialect), Watch::reset);
  }
}

// An idle stream is this frame and the waiter's: thousands of them wait for little to happen, so
// nothing that is only needed to write is held while they do.
Conversation follow_events(RequestContext context) {
  std::optional<OpenDiary> diary = co_await begin_diary(context);
  if (!diary) co_return;
  context.target = {};
  context.exchange.take_request();
  context.exchange.interrupt_when(http::Exchange::Until::server_stops);
  Waiter waiter(context.worker.executor);
  diary->notifier->subscribe(waiter);
  while (context.exchange.is_wanted()) {
    const Diary sent = co_await send_next_entries(context, diary->last_id);
    if (sent == Diary::has_ended) break;
    if (sent == Diary::went_on || co_await waiter.wait_for(kSilence)) continue;
    if (!context.exchange.is_wanted() || !co_await context.exchange.write(kStillHere)) break;
  }
  co_await context.exchange.end();
}

}  // namespace treaty::api
