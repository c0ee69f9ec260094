#include "treaty/turns/run/diary.h"

#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"

namespace treaty::turns {

// Kinds are words of ours: nothing in them needs an escape.
std::string event_line(std::int64_t index, std::string_view kind, store::Milliseconds at,
                       std::string_view data) {
  return fmt::format(R"({{"index":{},"kind":"{}","at":{},"data":{}}})"
                     "\n",
                     index, kind, at, data);
}

std::vector<Event> events_of_lines(std::int64_t turn_number, std::string_view turn_id,
                                   std::string_view lines) {
  std::vector<Event> events;
  json::Document document;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    document.read(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const auto index = json::find_member(document.root(), "index");
    const auto at = json::find_member(document.root(), "at");
    const auto data = json::find_member(document.root(), "data");
    if (!index || !at || !data || !data->is_object()) continue;
    json::Writer writer;
    writer.begin_object().member("At", timestamp_of(at->integer().value_or(0)));
    writer.member("TurnId", turn_id);
    for (const auto& [name, value] : data->members()) {
      writer.name(name.text()).raw(value.source());
    }
    events.push_back({.id = turn_number * kEventsPerTurn + index->integer().value_or(0),
                      .kind = std::string(json::find_text(document.root(), "kind")),
                      .data = writer.end_object().take()});
  }
  return events;
}

Diary::Diary(const store::Turn& turn, std::string earlier)
    : turn_number_(turn.number),
      turn_id_(turn.turn_id),
      next_index_(turn.round * kEventsPerRound + 1 + std::ranges::count(earlier, '\n')),
      lines_(std::move(earlier)) {}

void Diary::add(std::string_view kind, store::Milliseconds at, std::string_view data) {
  const std::scoped_lock lock(mutex_);
  if (next_index_ % kEventsPerRound == kEventsPerRound - 1) return;  // Full.
  lines_ += event_line(next_index_++, kind, at, data);
}

std::string Diary::lines() const {
  const std::scoped_lock lock(mutex_);
  return lines_;
}

std::vector<Event> Diary::after(std::int64_t last_id) const {
  std::vector<Event> events = events_of_lines(turn_number_, turn_id_, lines());
  std::erase_if(events, [&](const Event& event) { return event.id <= last_id; });
  return events;
}

}  // namespace treaty::turns
