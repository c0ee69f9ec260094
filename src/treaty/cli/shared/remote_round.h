// One request until its result is here or cannot be had: what to send next, and what came of it. No
// network: RemoteClient carries, this decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "treaty/cli/shared/conversation.h"
#include "treaty/http/client.h"
#include "treaty/http/event_stream.h"

namespace treaty::cli {

// What the stream of one round tells, however often it was cut and taken up again: each event
// counts once.
class TurnEvents {
 public:
  // `on_text` gets each piece of the answer's text.
  explicit TurnEvents(std::function<void(std::string_view)> on_text)
      : on_text_(std::move(on_text)) {}

  // Bytes of a text/event-stream.
  void feed(std::string_view bytes);

  // What follows comes on another connection.
  void begin_connection() { reader_ = http::EventStreamReader(); }

  // The id of the last event; 0 when none came.
  std::int64_t last_id() const { return last_id_; }

  // As turn.started told them; empty until then.
  const std::string& session_id() const { return session_id_; }
  const std::string& turn_id() const { return turn_id_; }

  // The InvokeResult, once it came.
  const std::optional<std::string>& result() const { return result_; }

 private:
  void take(const http::StreamedEvent& event);

  std::function<void(std::string_view)> on_text_;
  http::EventStreamReader reader_{};
  std::int64_t last_id_ = 0;
  std::string session_id_{};
  std::string turn_id_{};
  std::optional<std::string> result_{};
};

// An answer as it comes: a stream goes to the events, anything else is kept.
class RemoteRoundSink : public http::ResponseSink {
 public:
  explicit RemoteRoundSink(TurnEvents& events) : events_(events) { events_.begin_connection(); }

  void on_head(const http::Response& head) override;
  bool on_body(std::string_view bytes) override;
  bool is_satisfied() const override { return events_.result().has_value(); }

  http::Response response{.status = 0};  // 0: no answer began.
  bool is_stream = false;

 private:
  TurnEvents& events_;
};

// Why a gateway could not be asked, and what to do; `was_reached`: it has answered before.
std::string failure_text(const std::string& address, const http::FetchFailure& failure,
                         bool was_reached);

class RemoteRound {
 public:
  // `request` outlives it.
  RemoteRound(const contracts::AgentExecuteRequest& request, const OnText& on_text,
              std::string address)
      : request_(request), events_(on_text), address_(std::move(address)) {}

  // The same request again as long as the turn has no name, since that is safe; after that the
  // stream where it was cut.
  http::Request next_request() const;

  enum class Next { done, go_on, give_up };
  Next judge(const std::expected<void, http::FetchFailure>& fetched, const RemoteRoundSink& sink,
             bool was_reached);

  // How long to wait before the next attempt; nothing when it has been tried often enough.
  std::optional<std::chrono::milliseconds> pause();

  // The user does not want the turn any more: what fails now is not tried again.
  void cancel() { is_cancelled_ = true; }
  bool is_cancelled() const { return is_cancelled_; }

  std::string cancel_path() const;
  TurnEvents& events() { return events_; }
  TurnAnswer take_answer() { return std::move(answer_); }

  // Why the last attempt came to nothing, without what to do next.
  std::string failure_line() const { return answer_.failure.substr(0, answer_.failure.find('\n')); }

 private:
  Next failed(std::string why, bool may_go_better);
  std::string session_id() const;
  std::string turn_id() const;

  const contracts::AgentExecuteRequest& request_;
  TurnEvents events_;
  std::string address_;
  TurnAnswer answer_{};
  bool repeats_ = false;  // The stream has nothing more; the same request has.
  bool is_cancelled_ = false;
  int attempts_ = 0;       // Without any news in between.
  std::int64_t seen_ = 0;  // The last event of the attempts before.
};

// The first error of an InvokeResult, for people; nothing when it is none.
struct FirstError {
  std::string code{};
  std::string text{};  // "CODE: MESSAGE".
};
std::optional<FirstError> first_error_of(std::string_view invoke_result);

std::string cancel_path(std::string_view session_id, std::string_view turn_id);

}  // namespace treaty::cli
