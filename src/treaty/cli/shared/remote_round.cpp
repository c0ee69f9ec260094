#include "treaty/cli/shared/remote_round.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/api/target.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using http::FailureKind;
using std::chrono::milliseconds;

constexpr int kMostAttempts = 7;  // About ten seconds.

std::string turn_path(std::string_view session_id, std::string_view turn_id,
                      std::string_view what) {
  return fmt::format("/v1/sessions/{}/turns/{}/{}", api::path_segment(session_id),
                     api::path_segment(turn_id), what);
}

bool may_go_better(FailureKind kind) {
  return kind == FailureKind::refused || kind == FailureKind::reset || kind == FailureKind::timeout;
}

bool is_json(const http::Response& response) {
  return starts_with_folded(response.headers.get("content-type"), "application/json");
}

}  // namespace

void TurnEvents::feed(std::string_view bytes) {
  reader_.feed(bytes);
  while (const auto event = reader_.next()) {
    // 0 when it is no number: nothing tells then whether the event is new, and it is taken as new.
    const auto id = parse_number<std::int64_t>(event->last_event_id).value_or(0);
    if (result_ || (id != 0 && id <= last_id_)) continue;
    if (id != 0) last_id_ = id;
    take(*event);
  }
}

void TurnEvents::take(const http::StreamedEvent& event) {
  if (event.name == "turn.result") {
    result_ = std::string(event.data);
    return;
  }
  const json::Document document(event.data);
  if (event.name == "output.delta") {
    on_text_(json::find_text(document.root(), "DeltaText"));
  } else if (event.name == "turn.started") {
    session_id_ = json::find_text(document.root(), "SessionId");
    turn_id_ = json::find_text(document.root(), "TurnId");
  }
}

void RemoteRoundSink::on_head(const http::Response& head) {
  response.status = head.status;
  response.headers = head.headers;
  is_stream = head.status == 200 &&
              starts_with_folded(head.headers.get("content-type"), "text/event-stream");
}

bool RemoteRoundSink::on_body(std::string_view bytes) {
  if (is_stream) {
    events_.feed(bytes);
  } else {
    response.body += bytes;
  }
  return true;
}

std::optional<FirstError> first_error_of(std::string_view invoke_result) {
  const json::Document document(invoke_result);
  const auto errors = json::find_member(document.root(), "Errors");
  if (!errors || !errors->is_array() || errors->elements().empty()) return std::nullopt;
  const json::Value first = *errors->elements().begin();
  const std::string_view code = json::find_text(first, "ErrorCode");
  return FirstError{std::string(code), fmt::format("{}: {}", harmless(code),
                                                   harmless(json::find_text(first, "Message")))};
}

std::string cancel_path(std::string_view session_id, std::string_view turn_id) {
  return turn_path(session_id, turn_id, "cancel");
}

std::string failure_text(const std::string& address, const http::FetchFailure& failure,
                         bool was_reached) {
  const std::string what = fmt::format("{}: {}", harmless(address), harmless(failure.message));
  if (failure.kind == FailureKind::refused && !was_reached) {
    return what + "\nNext: start a gateway there (treaty serve), or check --url";
  }
  if (may_go_better(failure.kind)) {
    return what + "\nNext: what was sent is safe to send again; the turn is kept if it arrived";
  }
  return what + "\nNext: check --url";
}

std::string RemoteRound::session_id() const {
  return events_.session_id().empty() ? request_.session_id : events_.session_id();
}

std::string RemoteRound::turn_id() const {
  return events_.turn_id().empty() ? request_.turn_id : events_.turn_id();
}

std::string RemoteRound::cancel_path() const { return cli::cancel_path(session_id(), turn_id()); }

http::Request RemoteRound::next_request() const {
  const bool can_follow = !repeats_ && !events_.turn_id().empty() && events_.last_id() > 0;
  if (!can_follow) {
    return {.method = "POST", .target = "/v1/agent/execute", .body = contracts::encode(request_)};
  }
  http::Request request{.target = turn_path(session_id(), turn_id(), "stream")};
  request.headers.set("last-event-id", std::to_string(events_.last_id()));
  return request;
}

// What may pass is told only to somebody who gave up waiting for it.
RemoteRound::Next RemoteRound::failed(std::string why, bool may_pass) {
  answer_.failure = std::move(why);
  return may_pass && !is_cancelled_ ? Next::go_on : Next::give_up;
}

RemoteRound::Next RemoteRound::judge(const std::expected<void, http::FetchFailure>& fetched,
                                     const RemoteRoundSink& sink, bool was_reached) {
  const http::Response& response = sink.response;
  if (const auto& result = events_.result()) {
    answer_ = {.invoke_result = *result};
    return Next::done;
  }
  if (!fetched) {
    const http::FetchFailure& failure = fetched.error();
    const bool nobody_there = failure.kind == FailureKind::refused && !was_reached;
    return failed(failure_text(address_, failure, was_reached),
                  !nobody_there && may_go_better(failure.kind));
  }
  if (sink.is_stream) {
    const http::FetchFailure cut{FailureKind::reset, "the stream ended early"};
    return failed(failure_text(address_, cut, true), true);
  }
  if (response.status == 204) {
    repeats_ = true;
    return failed("the stream of the turn has ended without a result", true);
  }
  if (is_json(response) && !response.body.empty()) {
    answer_ = {.invoke_result = response.body};
    return Next::done;
  }
  return failed(
      fmt::format("{} answered with HTTP status {} and no InvokeResult\nNext: check --url",
                  harmless(address_), response.status),
      false);
}

std::optional<milliseconds> RemoteRound::pause() {
  if (events_.last_id() > seen_) attempts_ = 0;
  seen_ = events_.last_id();
  if (++attempts_ >= kMostAttempts) return std::nullopt;
  return std::min(milliseconds(100) * (1 << attempts_), milliseconds(3'000));
}

}  // namespace treaty::cli
