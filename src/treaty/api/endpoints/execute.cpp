// POST /v1/agent/execute: a request in, an InvokeResult or a stream out.
#include <algorithm>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/endpoints/streams.h"
#include "treaty/api/negotiation.h"
#include "treaty/api/offload.h"
#include "treaty/turns/views/assistant_view.h"

namespace treaty::api {
namespace {

using contracts::Dialect;
using turns::Refusal;

// How long the head of a stream waits for the backend, so that an immediate failure still has a
// status of its own.
constexpr std::chrono::milliseconds kHeadPatience{1'000};
constexpr std::chrono::milliseconds kPatience = std::chrono::hours(1);  // With a backend.

// A refusal at the door, spelled as the request is.
struct SpelledRefusal {
  Refusal refusal;
  Dialect dialect = Dialect::pascal;
};

// For any thread.
std::expected<turns::TurnRequest, SpelledRefusal> read_submission(const RequestContext& context,
                                                                  const http::Request& request,
                                                                  bool ids_optional) {
  const auto away = [&](Refusal refusal) {
    return std::unexpected(SpelledRefusal{std::move(refusal), dialect_of_text(request.body)});
  };
  if (auto json = require_json(request.headers); !json) return away(std::move(json.error()));
  auto key = idempotency_key_in(request.headers);
  if (!key) return away(std::move(key.error()));
  const auto lenient = is_second_word(context.target, "profile", "strict", "lenient");
  if (!lenient) return away(lenient.error());
  auto decoded = contracts::decode_agent_execute_request(
      request.body, {.profile = *lenient ? contracts::Profile::lenient : contracts::Profile::strict,
                     .max_size = context.settings->max_body_bytes,
                     .ids_optional = ids_optional});
  if (!decoded) {
    const Dialect dialect =
        decoded.verdict().kind.empty() ? dialect_of_text(request.body) : decoded.verdict().dialect;
    return std::unexpected(SpelledRefusal{violation_refusal(decoded.error()), dialect});
  }
  return turns::prepare(
      {.tenant = context.tenant,
       .request = std::move(*decoded),
       .renderer = &context.renderer,
       .warnings = warnings_of(decoded.warnings()),
       .idempotency_key = std::move(*key),
       .trace_id = std::string(turns::trace_id_of(request.headers.get("traceparent")))},
      context.engine.now());
}

// A continuation cannot ask for a stream in its body (REQ-25), only in its Accept header.
std::optional<StreamForm> form_of_answer(const Headers& headers,
                                         const contracts::AgentExecuteRequest& request) {
  const auto form = stream_form_in(headers);
  const auto* turn = std::get_if<contracts::UserTurn>(&request.scenario);
  if (turn == nullptr) return form;
  if (!turn->streaming) return std::nullopt;
  return form.value_or(StreamForm::events);
}

Conversation answer(const RequestContext& context, http::Response response) {
  if (context.settings->always_200) response.status = 200;
  co_await context.exchange.respond(std::move(response));
}

bool cancels_on_disconnect(const turns::Agent& agent) {
  return agent.on_disconnect == turns::OnDisconnect::cancel;
}

// `close`: the turn ends with its client. Costs nothing as long as no agent wants that.
boost::asio::awaitable<Watch> watch_for(const RequestContext& context, const turns::TurnLog& log) {
  const auto settings = context.worker.settings;
  const auto& agents = settings->agents;
  const bool any = std::ranges::any_of(
      agents, [](const auto& entry) { return cancels_on_disconnect(entry.second); });
  const auto opening = log.opening();
  if (!any || !opening || log.outcome_now()) co_return Watch::reset;
  const auto session =
      co_await context.engine.store().find_session({context.tenant, opening->session_id});
  if (!session || !*session) co_return Watch::reset;
  const auto agent = agents.find((*session)->agent);
  const bool cancels = agent != agents.end() && cancels_on_disconnect(agent->second);
  co_return cancels ? Watch::close : Watch::reset;
}

// The client disconnected. Cancels the turn, unless other clients wait for the same answer.
Conversation cancel(const RequestContext& context, const turns::TurnLog& log,
                    turns::TurnLog::Following& following) {
  const auto opening = log.opening();
  if (following.leave() > 0 || !opening || log.outcome_now()) co_return;
  co_await context.engine.cancel(context.worker, {context.tenant, opening->session_id},
                                 opening->turn_id);
}

// False: the client has gone before there was an answer.
boost::asio::awaitable<bool> wait_for_answer(http::Exchange& exchange, turns::TurnLog& log,
                                             Watch watch) {
  constexpr std::int64_t kEnd = INT64_MAX;  // No event comes after it.
  while (!log.outcome_now()) {
    const News news = co_await wait_for_news(exchange, log, kEnd, kPatience, watch);
    if (news == News::is_gone) co_return false;
  }
  co_return true;
}

// A client that has closed only its own half of the connection still gets the answer. For one whose
// connection is broken nothing is kept: neither its place nor the memory of its body.
Conversation answer_whole(const RequestContext& context, turns::TurnLog& log,
                          turns::TurnLog::Following& following, Dialect dialect, Watch watch) {
  if (watch == Watch::close && !co_await wait_for_answer(context.exchange, log, watch)) {
    co_await cancel(context, log, following);
  }
  if (!co_await wait_for_answer(context.exchange, log, Watch::reset)) co_return;
  co_await answer(context, outcome_response(*log.outcome_now(), context.renderer, dialect));
}

// Waits until the backend has begun to answer, but not long. False: the client has gone.
boost::asio::awaitable<bool> wait_for_begin(http::Exchange& exchange, turns::TurnLog& log,
                                            Watch watch) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + kHeadPatience;
  while (!log.outcome_now() && log.after(log.first_event()).empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    const auto first = log.first_event();
    if (co_await wait_for_news(exchange, log, first, left, watch) == News::is_gone) co_return false;
  }
  co_return true;
}

Conversation answer_stream(const RequestContext& context, turns::TurnLog& log,
                           turns::TurnLog::Following& following, TurnText text, Dialect dialect,
                           Watch watch) {
  bool stays = co_await wait_for_begin(context.exchange, log, watch);
  if (const auto outcome = log.outcome_now(); outcome && !outcome->error_code.empty()) {
    co_await answer(context, outcome_response(*outcome, context.renderer, dialect));
    co_return;
  }
  if (stays) stays = co_await send_stream(context.exchange, log, 0, text, watch);
  if (!stays && watch == Watch::close) co_await cancel(context, log, following);
}

}  // namespace

Conversation execute(RequestContext context) {
  // A turn may take minutes; the bytes of its request are of no use once they are read.
  std::optional<http::Request> request = context.exchange.take_request();
  const bool ids_optional = context.worker.settings->initial_requests;
  auto read = co_await offload(context.pool, request->body.size(),
                               [&] { return read_submission(context, *request, ids_optional); });
  if (!read) {
    co_await answer(context, refusal_response(read.error(), context.renderer));
    co_return;
  }
  auto& submission = *read;
  if (!submission) {
    const auto& [refusal, dialect] = submission.error();
    co_await answer(context, refusal_response(refusal, context.renderer, dialect));
    co_return;
  }
  const Dialect dialect = submission->request.dialect;
  const auto form = form_of_answer(request->headers, submission->request);
  submission->streams = submission->streams || form.has_value();
  request.reset();
  const auto log = co_await context.engine.execute(context.worker, std::move(*submission));
  turns::TurnLog::Following following(*log);  // Before anything is waited for: this client counts.
  const Watch watch = co_await watch_for(context, *log);
  if (form) {
    co_await answer_stream(context, *log, following, TurnText(*form, context.renderer, dialect),
                           dialect, watch);
  } else {
    co_await answer_whole(context, *log, following, dialect, watch);
  }
}

}  // namespace treaty::api
