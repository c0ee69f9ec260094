#include "treaty/dispatch/client_sink.h"

namespace treaty::dispatch {
namespace {

// How many bytes at the end are the beginning of a character.
std::size_t partial_bytes(std::string_view utf8) {
  for (std::size_t back = 1; back <= 3 && back <= utf8.size(); ++back) {
    const auto byte = static_cast<unsigned char>(utf8[utf8.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;  // A later byte of a character.
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return back < length ? back : 0;
  }
  return 0;
}

}  // namespace

void ClientSink::on_text(std::string_view delta) {
  came_ += delta.size();
  if (!streams_) return;
  join_ ? give(join_->feed(delta)) : give(delta);
}

void ClientSink::begin_attempt(std::optional<AnswerJoin::Form> form) {
  came_before_ = came_;
  thoughts_ = {};
  thoughts_left_out_.clear();
  partial_.clear();
  join_.reset();
  if (form) join_.emplace(text_, *form);
}

bool ClientSink::take_back() {
  if (left_ == 0 || !sink_.take_back()) return false;
  left_ = 0;
  text_.clear();
  return true;
}

bool ClientSink::end_attempt(bool has_failed, const std::optional<std::string>& content) {
  if (!wants_more()) return false;
  if (has_failed) return true;
  if (join_) {
    if (came_ == came_before_ && content) on_text(*content);
    const auto rest = join_->finish();
    if (!rest) return false;
    give(*rest);
  }
  if (!partial_.empty()) {
    const std::string rest = std::exchange(partial_, {});
    left_ += rest.size();
    text_ += rest;
    sink_.on_text(rest);
  }
  return true;
}

// Text that may have to be continued leaves in whole characters.
void ClientSink::give(std::string_view text) {
  if (text.empty()) return;
  if (!keeps_) {
    left_ += text.size();
    return sink_.on_text(text);
  }
  std::string whole = std::exchange(partial_, {});
  whole += text;
  const std::size_t size = whole.size() - partial_bytes(whole);
  partial_ = whole.substr(size);
  whole.resize(size);
  if (whole.empty()) return;
  left_ += whole.size();
  text_ += whole;
  sink_.on_text(whole);
}

}  // namespace treaty::dispatch
