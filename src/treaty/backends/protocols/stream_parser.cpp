#include "treaty/backends/protocols/stream_parser.h"

#include "treaty/backends/protocols/wire.h"
#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

// Grows, or changes, with every piece of the answer but those that has_piece tells of.
std::size_t size_of(const results::Answer& answer) {
  return answer.content.size() + answer.refusal.size() + answer.thinking.size() +
         answer.tool_calls.size() + answer.thoughts.size();
}

std::size_t bytes_of(const StreamedAnswer& state) {
  const results::Answer& answer = state.answer;
  // What can be read of thoughts is a part of them.
  std::size_t bytes = answer.content.size() + answer.refusal.size() +
                      std::max(answer.thinking.size(), state.thought_bytes);
  for (const auto& call : answer.tool_calls) bytes += call.name.size() + call.arguments.size();
  return bytes;
}

// An answer is measured whenever so many bytes have come: it cannot have grown by more.
constexpr std::size_t kBetweenChecks = std::size_t{1} << 20U;

}  // namespace

bool StreamParser::is_hopeless() const {
  return state_.broken || is_too_large_ || !state_.answer.error_body.empty() ||
         events_.overflowed();
}

std::size_t StreamParser::bytes() const { return bytes_of(state_); }

void StreamParser::check_size(std::size_t more) {
  unchecked_ += more;
  if (unchecked_ < kBetweenChecks) return;
  unchecked_ = 0;
  is_too_large_ = bytes_of(state_) > largest_;
}

void StreamParser::take(std::string_view name, std::string_view data) {
  if (is_over() || is_blank(data)) return;
  if (!is_utf8(data)) {
    state_.broken = true;
    return;
  }
  const std::size_t before = size_of(state_.answer);
  state_.has_piece = false;
  protocol_.parse_event(state_, name, data);
  if (state_.has_piece || size_of(state_.answer) != before) ++pieces_;
  check_size(data.size());
}

void StreamParser::feed_lines(std::string_view bytes) {
  while (!bytes.empty() && !is_over()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (line_.size() > kLongestLine) state_.broken = true;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    take({}, line_);
    line_.clear();
  }
}

std::string_view StreamParser::feed(std::string_view bytes) {
  const std::size_t before = state_.answer.content.size();
  thinking_begin_ = state_.answer.thinking.size();
  if (is_over()) return {};
  if (protocol_.framing == Framing::json_lines) {
    feed_lines(bytes);
  } else {
    events_.feed(bytes);
    while (const auto event = events_.next()) take(event->name, event->data);
  }
  const std::string_view content = state_.answer.content;
  return content.substr(std::min(before, content.size()));
}

std::string_view StreamParser::thinking() const {
  const std::string_view thinking = state_.answer.thinking;
  return thinking.substr(std::min(thinking_begin_, thinking.size()));
}

results::Answer StreamParser::finish() {
  const std::size_t before = state_.answer.content.size();
  if (protocol_.framing == Framing::json_lines) {
    take({}, line_);
  } else if (const auto event = events_.rest()) {
    take(event->name, event->data);
  }
  // A finish reason is a terminal marker, but what cannot be read behind it shows a cut.
  if (!state_.ended && (state_.broken || events_.overflowed())) state_.answer.complete = false;
  check_size(kBetweenChecks);
  if (state_.answer.content.size() > before) last_text_ = state_.answer.content.substr(before);
  put_in_order(state_);
  close_thoughts(state_);
  return std::move(state_.answer);
}

}  // namespace treaty::backends
