// Passes what a backend says on to the client, and remembers what the client has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "treaty/backends/backend.h"
#include "treaty/dispatch/answer_join.h"

namespace treaty::dispatch {

class ClientSink final : public backends::Sink {
 public:
  // `streams`: the client wants the text as it comes. `keeps`: the text that has left is needed
  // again when another backend continues it.
  ClientSink(backends::Sink& sink, bool streams, bool keeps)
      : sink_(sink), streams_(streams), keeps_(keeps) {}

  void on_text(std::string_view delta) override;
  void on_progress(std::string_view kind, std::string_view data) override {
    sink_.on_progress(kind, data);
  }
  void on_thinking(std::string_view delta) override { sink_.on_thinking(delta); }
  void on_thoughts(backends::Thoughts thoughts) override { thoughts_ = std::move(thoughts); }
  void on_thoughts_left_out(std::string_view why) override { thoughts_left_out_ = why; }
  void on_pictures_left_out() override { sink_.on_pictures_left_out(); }
  void on_cut(std::size_t bytes) override { came_ = std::max(came_, came_before_ + bytes); }

  // A backend is asked. It continues the text that has left, if there is a form.
  void begin_attempt(std::optional<AnswerJoin::Form> form);

  bool wants_more() const override { return !(join_ && join_->has_failed()); }

  // False also when no text was given to the client.
  bool take_back() override;

  // The attempt has ended. False: what the backend said is no continuation.
  bool end_attempt(bool has_failed, const std::optional<std::string>& content);

  bool streams() const { return streams_; }
  std::size_t came() const { return came_; }         // Bytes from all backends,
  std::size_t left() const { return left_; }         // and to the client.
  const std::string& text() const { return text_; }  // That has left, if it is kept.
  backends::Thoughts take_thoughts() { return std::exchange(thoughts_, {}); }
  const std::string& thoughts_left_out() const { return thoughts_left_out_; }  // Why; empty: no.

 private:
  void give(std::string_view text);

  backends::Sink& sink_;
  const bool streams_;
  const bool keeps_;
  std::size_t came_ = 0;
  std::size_t came_before_ = 0;  // This attempt.
  std::size_t left_ = 0;
  std::string text_{};
  std::string partial_{};  // The first bytes of a character; they leave with the others.
  std::optional<AnswerJoin> join_{};
  backends::Thoughts thoughts_{};    // Of this attempt,
  std::string thoughts_left_out_{};  // and why they were not kept.
};

}  // namespace treaty::dispatch
