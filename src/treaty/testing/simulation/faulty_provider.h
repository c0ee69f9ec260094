// A provider over HTTP that says its answers in pieces, with silences between them, on a clock that
// jumps. It keeps the timeouts of its calls as HttpBackend does.
#pragma once

#include <algorithm>
#include <functional>

#include "treaty/testing/simulation/two_backends.h"

namespace treaty::testing {

// What one attempt comes to: pieces, each after a silence, then its end.
struct Played {
  struct Piece {
    Seconds silence = 0;
    std::string text{};
  };
  std::vector<Piece> pieces{};
  AgentResult end{.finish_reason = "stop"};  // Without an error: the text is its content.
};

class FaultyProvider final : public backends::Backend {
 public:
  using Play = std::function<Played(const backends::Call& call, std::size_t attempt)>;

  FaultyProvider(std::shared_ptr<FakeClock> clock, Play play)
      : clock_(std::move(clock)), play_(std::move(play)) {}

  asio::awaitable<AgentResult> run(const backends::Call& call, backends::Sink& sink) override {
    co_await asio::this_coro::throw_if_cancelled(false);
    asked_at.push_back(clock_->seconds());
    calls.push_back(call);
    Played played = play_(call, asked_at.size());
    std::string text;
    for (const Played::Piece& piece : played.pieces) {
      const auto& limit = text.empty() ? call.timeouts.first_token : call.timeouts.stall;
      const Seconds most =
          call.stream && limit ? std::chrono::duration<double>(*limit).count() : 1e9;
      co_await clock_->sleep(std::min(piece.silence, most));
      if (co_await backends::is_cancelled()) co_return backends::aborted_result();
      if (piece.silence > most) {
        co_return backends::failed_result("timeout", "Timeout", "nothing came in time", true);
      }
      text += piece.text;
      if (call.stream) sink.on_text(piece.text);
    }
    if (!played.end.error) played.end.content = text;
    if (!played.end.error && !call.stream) sink.on_text(text);
    co_return played.end;
  }

  std::vector<Moment> asked_at{};
  std::vector<backends::Call> calls{};

 private:
  std::shared_ptr<FakeClock> clock_;
  Play play_;
};

}  // namespace treaty::testing
