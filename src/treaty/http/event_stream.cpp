#include "treaty/http/event_stream.h"

#include <algorithm>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::http {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr std::size_t kMarkDone = kMark.size() + 1;

std::size_t find_or_end(std::string_view bytes, char wanted, std::size_t from) {
  return std::min(bytes.find(wanted, from), bytes.size());
}

}  // namespace

void EventStreamReader::Value::keep() {
  if (is_kept) return;
  kept.assign(borrowed);
  is_kept = true;
}

void EventStreamReader::Value::clear() {
  borrowed = {};
  is_kept = false;
}

void EventStreamReader::feed(std::string_view bytes) {
  fed_ = bytes;
  at_ = 0;
  skip_byte_order_mark();
  if (after_cr_ && at_ < fed_.size()) {
    at_ += fed_[at_] == '\n' ? 1 : 0;
    after_cr_ = false;
  }
  next_lf_ = find_or_end(fed_, '\n', at_);
  next_cr_ = find_or_end(fed_, '\r', at_);
}

void EventStreamReader::skip_byte_order_mark() {
  while (mark_ < kMark.size() && at_ < fed_.size()) {
    if (fed_[at_] != kMark[mark_]) {
      unfinished_.assign(kMark.substr(0, mark_));  // It was the beginning of a line.
      mark_ = kMarkDone;
      return;
    }
    ++mark_;
    ++at_;
  }
  if (mark_ == kMark.size()) mark_ = kMarkDone;
}

// The next line without its end. What has no end yet stays for the next feed.
std::optional<std::string_view> EventStreamReader::take_line() {
  if (next_lf_ < at_) next_lf_ = find_or_end(fed_, '\n', at_);
  if (next_cr_ < at_) next_cr_ = find_or_end(fed_, '\r', at_);
  const std::size_t end = std::min(next_lf_, next_cr_);
  std::string_view line = fed_.substr(at_, end - at_);
  if (end == fed_.size()) {
    unfinished_.append(line);
    at_ = end;
    return std::nullopt;
  }
  at_ = end + 1;
  if (fed_[end] == '\r') {
    after_cr_ = at_ == fed_.size();
    if (next_lf_ == at_ && !after_cr_) ++at_;
  }
  line_is_fed_ = unfinished_.empty();
  if (!line_is_fed_) {
    joined_.swap(unfinished_);
    joined_.append(line);
    unfinished_.clear();
    line = joined_;
  }
  return line;
}

std::optional<StreamedEvent> EventStreamReader::next() {
  while (!overflowed_) {
    const auto line = take_line();
    if (!line) {
      fits(unfinished_);
      keep_unfinished();
      break;
    }
    if (line->empty()) {
      if (const auto event = dispatch()) return event;
    } else if (fits(*line)) {
      read_line(*line);
    }
  }
  return std::nullopt;
}

std::optional<StreamedEvent> EventStreamReader::rest() {
  if (overflowed_) return std::nullopt;
  joined_.swap(unfinished_);
  unfinished_.clear();
  line_is_fed_ = false;
  if (!joined_.empty()) read_line(joined_);
  return dispatch();
}

// The fed bytes go back to the caller: what an unfinished event needs of them is copied.
void EventStreamReader::keep_unfinished() {
  name_.keep();
  if (has_data_) data_.keep();
  fed_ = {};
  at_ = next_lf_ = next_cr_ = 0;
}

bool EventStreamReader::fits(std::string_view line) {
  const std::size_t held = has_data_ ? data_.view().size() : 0;
  if (held + line.size() > max_event_bytes_) {
    overflowed_ = true;
    unfinished_ = {};
    data_ = {};
    fed_ = {};
  }
  return !overflowed_;
}

void EventStreamReader::read_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0) return;  // A comment.
  if (colon == std::string_view::npos) return read_field(line, {});
  std::string_view value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  read_field(line.substr(0, colon), value);
}

void EventStreamReader::read_field(std::string_view field, std::string_view value) {
  if (field == "data") {
    add_data(value);
  } else if (field == "event") {
    set_name(value);
  } else if (field == "id") {
    if (!value.contains('\0')) last_event_id_.assign(value);
  } else if (field == "retry" && std::ranges::all_of(value, is_digit)) {
    if (const auto milliseconds = parse_number<std::int64_t>(value)) retry_ = milliseconds;
  }
}

void EventStreamReader::add_data(std::string_view value) {
  if (has_data_) {
    data_.keep();
    data_.kept.append(1, '\n').append(value);
    return;
  }
  has_data_ = true;
  data_.clear();
  data_.borrowed = value;
  if (!line_is_fed_) data_.keep();
}

void EventStreamReader::set_name(std::string_view value) {
  name_.clear();
  name_.borrowed = value;
  if (!line_is_fed_) name_.keep();
}

std::optional<StreamedEvent> EventStreamReader::dispatch() {
  const std::string_view name = name_.view();
  const StreamedEvent event{.name = name.empty() ? std::string_view("message") : name,
                            .data = data_.view(),
                            .last_event_id = last_event_id_};
  const bool has_data = has_data_;
  name_.clear();
  data_.clear();
  has_data_ = false;
  if (!has_data) return std::nullopt;
  return event;
}

std::string event_bytes(std::string_view name, std::string_view data) {
  std::string out;
  out.reserve(name.size() + data.size() + 24);
  if (!name.empty()) {
    out += "event: ";
    std::ranges::copy_if(name, std::back_inserter(out),
                         [](char c) { return c != '\r' && c != '\n'; });
    out += '\n';
  }
  for (std::size_t at = 0; at <= data.size();) {
    const Line line = line_at(data, at);
    out.append("data: ").append(line.text).append(1, '\n');
    at = line.next;
  }
  out += '\n';
  return out;
}

}  // namespace treaty::http
