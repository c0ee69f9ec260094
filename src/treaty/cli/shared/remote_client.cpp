#include "treaty/cli/shared/remote_client.h"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>
#include <tuple>

#include "treaty/api/target.h"
#include "treaty/base/json.h"
#include "treaty/base/json_text.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/decode_agent_result.h"

namespace treaty::cli {
namespace {

namespace asio = boost::asio;
using api::path_segment;
using std::chrono::milliseconds;

// A turn may take its time before it says anything; a stream says something every 15 s.
constexpr http::FetchOptions kTurnOptions{.timeouts = {.first_byte = std::chrono::minutes(30),
                                                       .idle = std::chrono::seconds(60),
                                                       .total = std::chrono::hours(24)},
                                          .max_body_bytes = std::size_t{256} << 20U};
constexpr http::FetchOptions kShortOptions{.timeouts = {.first_byte = std::chrono::seconds(20),
                                                        .idle = std::chrono::seconds(20),
                                                        .total = std::chrono::seconds(30)}};

// What an agent said may be long.
constexpr http::FetchOptions kDocumentOptions{.timeouts = {.first_byte = std::chrono::seconds(20),
                                                           .idle = std::chrono::seconds(20),
                                                           .total = std::chrono::minutes(10)},
                                              .max_body_bytes = kTurnOptions.max_body_bytes};

constexpr int kMostCancels = 7;  // In some ten seconds.

Result<std::string> read_key(const Arguments& arguments) {
  if (!arguments.has("--key-env")) return std::string();
  const std::string name = arguments.get("--key-env");
  const char* value = std::getenv(name.c_str());
  const std::string_view key = value == nullptr ? std::string_view() : trimmed(value);
  if (!key.empty() && !has_control_character(key)) return std::string(key);
  return failed_with(kBadConfiguration,
                     fmt::format("{} holds no key: export {}=…", harmless(name), harmless(name)));
}

// The first error of an InvokeResult; the status when it is none.
ClientFailure refusal_of(const http::Response& response) {
  const int code = response.status == 429 || response.status == 503 ? kTryLater : kViolated;
  if (auto error = first_error_of(response.body)) {
    return {code, std::move(error->text), std::move(error->code)};
  }
  return {code, fmt::format("it answered with HTTP status {}", response.status)};
}

// The diary of a session, as it comes. What is no diary is passed over.
class DiarySink : public http::ResponseSink {
 public:
  DiarySink(const OnTurnEvent& on_event, std::string& last_id)
      : on_event_(on_event), last_id_(last_id) {}

  void on_head(const http::Response& head) override { is_diary_ = head.status == 200; }
  bool on_body(std::string_view bytes) override {
    if (!is_diary_) return false;
    reader_.feed(bytes);
    while (const auto event = reader_.next()) {
      last_id_ = event->last_event_id;
      on_event_(event->name, event->data);
    }
    return true;
  }

 private:
  const OnTurnEvent& on_event_;
  std::string& last_id_;
  http::EventStreamReader reader_{};
  bool is_diary_ = false;
};

}  // namespace

std::vector<Option> remote_options() {
  return {{"--url", "URL", "The gateway (http://127.0.0.1:8088); else one in this process"},
          {"--key-env", "NAME", "The variable that holds the gateway's key"}};
}

Result<std::optional<RemoteAddress>> read_remote_address(const Arguments& arguments) {
  const std::string text = arguments.get("--url");
  if (!arguments.has("--url")) {
    if (!arguments.has("--key-env")) return std::nullopt;
    return misused("--key-env goes with --url");
  }
  for (const std::string name : {"--config", "--state-dir"}) {
    if (!arguments.has(name)) continue;
    return misused(name + " is for the gateway of this process: leave --url away");
  }
  const auto url = http::parse_url(text);
  if (!url) return misused(fmt::format("--url: {}", url.error().message));
  TREATY_TRY(auto key, read_key(arguments));
  return RemoteAddress{.url = *url, .text = text, .key = std::move(key)};
}

RemoteClient::RemoteClient(RemoteAddress address, Signals& signals, OnTurnEvent on_event)
    : address_(std::move(address)),
      signals_(signals),
      on_event_(std::move(on_event)),
      client_(context_, {.proxy_from_environment = address_.through_proxy}) {}

http::Url RemoteAddress::url_of(std::string_view path) const {
  http::Url full = url;
  while (full.target.ends_with('/')) full.target.pop_back();
  full.target += path;
  return full;
}

void RemoteAddress::sign(http::Request& request) const {
  request.headers.set("user-agent", "treaty/" TREATY_VERSION);
  if (!key.empty()) request.headers.set("authorization", "Bearer " + key);
}

void RemoteClient::complete(http::Request& request) const {
  request.headers.set("accept", "text/event-stream, application/json");
  if (!request.body.empty()) request.headers.set("content-type", "application/json");
  address_.sign(request);
}

RemoteClient::Task<void> RemoteClient::converse(RemoteRound& round) {
  for (;;) {
    RemoteRoundSink sink(round.events());
    http::Request request = round.next_request();
    complete(request);
    const http::Url url = address_.url_of(request.target);
    const auto fetched = co_await client_.fetch(url, std::move(request), kTurnOptions, sink);
    const bool was_reached = was_reached_;
    if (sink.response.status != 0) was_reached_ = true;
    if (round.judge(fetched, sink, was_reached) != RemoteRound::Next::go_on) co_return;
    const auto pause = round.pause();
    if (!pause) co_return;
    tell_pause(*pause, round);
    asio::steady_timer timer(context_, *pause);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (round.is_cancelled()) co_return;
  }
}

// In the words of the diary, which a gateway that cannot be reached does not write.
void RemoteClient::tell_pause(milliseconds pause, const RemoteRound& round) const {
  if (!on_event_) return;
  const json::ObjectText data = {{"Backend", address_.text},
                                 {"Seconds", static_cast<double>(pause.count()) / 1'000},
                                 {"Reason", round.failure_line()}};
  on_event_("waiting", data.text());
}

// Until it is cancelled. A gateway that does not show the diary is no failure of the turn.
RemoteClient::Task<void> RemoteClient::follow_diary(std::string session_id) {
  if (diary_session_ != session_id) last_diary_event_.clear();
  diary_session_ = session_id;
  http::Request request;
  if (!last_diary_event_.empty()) request.headers.set("last-event-id", last_diary_event_);
  complete(request);
  const http::Url url =
      address_.url_of(fmt::format("/v1/sessions/{}/events", path_segment(session_id)));
  DiarySink sink(on_event_, last_diary_event_);
  std::ignore = co_await client_.fetch(url, std::move(request), kTurnOptions, sink);
}

// A turn that nobody knows yet may be known in a moment.
RemoteClient::Task<void> RemoteClient::cancel_until_heard(const RemoteRound& round) {
  for (int attempt = 0; attempt < kMostCancels; ++attempt) {
    const Fetched fetched = co_await post(round.cancel_path(), "{}");
    if (fetched && fetched->status != 404) co_return;
    asio::steady_timer timer(context_, milliseconds(100) * (1 << attempt));
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

// Told to leave, nobody waits any more. Any other signal means the turn: the first one cancels it
// and waits for its end.
TurnAnswer RemoteClient::ask(const contracts::AgentExecuteRequest& request, const OnText& on_text) {
  if (const auto early = signals_.take()) return {.signal = *early};
  RemoteRound round(request, on_text, address_.text);
  bool is_over = false;
  asio::cancellation_signal stop;
  asio::cancellation_signal stop_cancelling;
  asio::cancellation_signal stop_following;
  const auto give_up = [&] {
    stop.emit(asio::cancellation_type::terminal);
    stop_cancelling.emit(asio::cancellation_type::terminal);
  };
  const auto cancel_turn = [&] {
    if (is_over) return;
    if (round.is_cancelled()) return give_up();
    round.cancel();
    asio::co_spawn(
        context_, cancel_until_heard(round),
        asio::bind_cancellation_slot(stop_cancelling.slot(), [](const std::exception_ptr&) {}));
  };
  context_.restart();
  asio::co_spawn(context_, converse(round),
                 asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr&) {
                   is_over = true;
                   stop_cancelling.emit(asio::cancellation_type::terminal);
                   stop_following.emit(asio::cancellation_type::terminal);
                 }));
  if (on_event_) {
    asio::co_spawn(
        context_, follow_diary(request.session_id),
        asio::bind_cancellation_slot(stop_following.slot(), [](const std::exception_ptr&) {}));
  }
  int signal = 0;
  do_watched(
      signals_, [this] { context_.run(); },
      [&](int number) {
        signal = number;
        if (number == SIGTERM || number == SIGHUP) {
          asio::post(context_, give_up);
        } else {
          asio::post(context_, cancel_turn);
        }
      });
  // What was posted too late must not wait for the next request.
  context_.restart();
  context_.poll();
  TurnAnswer answer = round.take_answer();
  answer.signal = signal;
  return answer;
}

bool RemoteClient::cancel(const std::string& session_id, const std::string& turn_id) {
  const Fetched fetched = run_until_signal(post(cancel_path(session_id, turn_id), "{}"));
  return fetched && fetched->status / 100 == 2;
}

// Any signal ends it early.
RemoteClient::Fetched RemoteClient::run_until_signal(Task<Fetched> task) {
  Fetched fetched =
      std::unexpected(http::FetchFailure{http::FailureKind::cancelled, "interrupted"});
  asio::cancellation_signal stop;
  context_.restart();
  asio::co_spawn(context_, std::move(task),
                 asio::bind_cancellation_slot(
                     stop.slot(), [&](const std::exception_ptr& thrown, Fetched outcome) {
                       if (!thrown) fetched = std::move(outcome);
                     }));
  do_watched(
      signals_, [this] { context_.run(); },
      [&](int) { asio::post(context_, [&] { stop.emit(asio::cancellation_type::terminal); }); });
  context_.restart();
  context_.poll();
  return fetched;
}

RemoteClient::Task<RemoteClient::Fetched> RemoteClient::post(std::string path, std::string body) {
  return send(std::move(path), {.method = "POST", .body = std::move(body)}, kShortOptions);
}

RemoteClient::Task<RemoteClient::Fetched> RemoteClient::send(std::string path,
                                                             http::Request request,
                                                             http::FetchOptions options) {
  complete(request);
  const http::Url url = address_.url_of(path);
  co_return co_await client_.fetch_all(url, std::move(request), options);
}

std::expected<http::Response, ClientFailure> RemoteClient::answer_to(Task<Fetched> task) {
  Fetched fetched = run_until_signal(std::move(task));
  if (!fetched) {
    return std::unexpected(
        ClientFailure{kUnavailable, failure_text(address_.text, fetched.error(), was_reached_)});
  }
  was_reached_ = true;
  return *std::move(fetched);
}

std::expected<OpenedSession, ClientFailure> RemoteClient::open(const std::string& path,
                                                               const std::string& body) {
  TREATY_TRY(const auto answer, answer_to(post(path, body)));
  const json::Document document(answer.body);
  OpenedSession opened{std::string(json::find_text(document.root(), "SessionId")),
                       std::string(json::find_text(document.root(), "TurnId"))};
  if (answer.status / 100 != 2 || opened.session_id.empty()) {
    return std::unexpected(refusal_of(answer));
  }
  return opened;
}

std::expected<std::optional<std::string>, ClientFailure> RemoteClient::look_up(
    const std::string& path, const http::FetchOptions& options) {
  TREATY_TRY(auto answer, answer_to(send(path, {}, options)));
  if (answer.status == 404) return std::nullopt;
  if (answer.status / 100 != 2) return std::unexpected(refusal_of(answer));
  return std::move(answer.body);
}

std::expected<std::optional<OpenTurn>, ClientFailure> RemoteClient::open_turn(
    const std::string& session_id) {
  const std::string path = "/v1/sessions/" + path_segment(session_id);
  TREATY_TRY(const auto session, look_up(path, kShortOptions));
  if (!session) return std::nullopt;
  const json::Document found(*session);
  const std::string newest(json::find_text(found.root(), "NewestTurnId"));
  if (newest.empty()) return std::nullopt;
  TREATY_TRY(const auto turn,
             look_up(fmt::format("{}/turns/{}", path, path_segment(newest)), kDocumentOptions));
  if (!turn) return std::nullopt;
  const json::Document told(*turn);
  const std::string_view state = json::find_text(told.root(), "State");
  const auto answer = json::find_member(told.root(), "Result");
  OpenTurn open{.turn_id = newest};
  if (state == "awaiting_tools" && answer) open.invoke_result = answer->source();
  if (state != "running" && open.invoke_result.empty()) return std::nullopt;
  return open;
}

std::expected<contracts::AgentResult, ClientFailure> RemoteClient::agent_result(
    const std::string& session_id, const std::string& turn_id) {
  const std::string path = fmt::format("/v1/sessions/{}/turns/{}/agent-result",
                                       path_segment(session_id), path_segment(turn_id));
  TREATY_TRY(const auto told, look_up(path, kDocumentOptions));
  if (told) {
    auto result = contracts::decode_agent_result(*told, {.max_size = told->size() + 1});
    if (result) return std::move(*result);
  }
  return std::unexpected(ClientFailure{
      kUnavailable,
      fmt::format("{} has no AgentResult of the turn at {}\nNext: check that the gateway there is "
                  "as new as this program (treaty version, GET /version)",
                  harmless(address_.text), harmless(path))});
}

std::expected<OpenedSession, ClientFailure> RemoteClient::open_session(const std::string& agent) {
  json::ObjectText body;
  if (!agent.empty()) body.add("AgentContextId", agent);
  return open("/v1/sessions", body.text());
}

std::expected<OpenedSession, ClientFailure> RemoteClient::branch(const std::string& session_id,
                                                                 const std::string& turn_id) {
  json::ObjectText body;
  if (!turn_id.empty()) body.add("TurnId", turn_id);
  return open(fmt::format("/v1/sessions/{}/branch", path_segment(session_id)), body.text());
}

}  // namespace treaty::cli
