#include "treaty/turns/diary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/results/prices.h"

namespace treaty::turns {
namespace {

using contracts::AgentResult;
using dispatch::Choice;
using dispatch::Why;

// The first place when there is no line.
EventPlace last_place_in(std::string_view lines) {
  if (lines.ends_with('\n')) lines.remove_suffix(1);
  const std::size_t before = lines.rfind('\n');
  const json::Document line(lines.substr(before == std::string_view::npos ? 0 : before + 1));
  return {.number = json::find_integer(line.root(), "number").value_or(0),
          .index = json::find_integer(line.root(), "index").value_or(0)};
}

json::Writer begin(const Choice& choice) {
  json::Writer writer;
  writer.begin_object().member("Backend", choice.backend).member("Model", choice.model);
  return writer;
}

std::string ended(json::Writer& writer, const dispatch::Why& why) {
  writer.member("Rule", name_of(why.rule)).member("Reason", why.reason);
  return writer.end_object().take();
}

std::int64_t milliseconds(dispatch::Seconds seconds) {
  return static_cast<std::int64_t>(std::clamp(std::ceil(seconds * 1'000), 0.0, 1e15));
}

void write_spent(json::Writer& writer, const AgentResult& result) {
  if (const auto& usage = result.usage) {
    if (usage->input_tokens) writer.member("InputTokens", *usage->input_tokens);
    if (usage->output_tokens) writer.member("OutputTokens", *usage->output_tokens);
    if (usage->cache_read_tokens) writer.member("CacheReadTokens", *usage->cache_read_tokens);
    if (usage->cache_write_tokens) writer.member("CacheWriteTokens", *usage->cache_write_tokens);
  }
  const auto cost = results::dollars_of(result);
  if (cost && std::isfinite(*cost)) writer.member("Cost", *cost);
}

}  // namespace

// Kinds are words of ours: nothing in them needs an escape.
std::string event_line(EventPlace place, std::string_view kind, store::Milliseconds at,
                       std::string_view data) {
  const std::string number =
      place.number == 0 ? std::string() : fmt::format(R"("number":{},)", place.number);
  return fmt::format(R"({{{}"index":{},"kind":"{}","at":{},"data":{}}})"
                     "\n",
                     number, place.index, kind, at, data);
}

EventPlace last_place(const store::Round& round) {
  const EventPlace of_request = last_place_in(round.request.events);
  if (!round.answer) return of_request;
  const EventPlace of_answer = last_place_in(round.answer->events);
  return of_answer.index > of_request.index ? of_answer : of_request;
}

std::string recovery_line(const store::Round& round, store::Milliseconds at) {
  EventPlace place = last_place(round);
  place.index = (place.index / kEventsPerRun + 1) * kEventsPerRun;
  if (place.index % kEventsPerRound == 0) return {};  // Full, after a hundred crashes.
  return event_line(place, "turn.recovered", at, "{}");
}

std::string end_line(const store::Turn& turn, int round, store::TurnState state,
                     store::Milliseconds at, std::string_view error_code) {
  json::Writer data;
  data.begin_object().member("ErrorCode", error_code).end_object();
  return event_line({turn.number, (round + 1) * kEventsPerRound - 1},
                    fmt::format("turn.{}", name_of(state)), at, data.take());
}

std::vector<DiaryEvent> events_of(const store::EventRow& row) {
  std::vector<DiaryEvent> events;
  std::string_view lines = row.events;
  json::Document document;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    document.read(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const auto index = json::find_member(document.root(), "index");
    const auto at = json::find_member(document.root(), "at");
    const auto data = json::find_member(document.root(), "data");
    if (!index || !at || !data || !data->is_object()) continue;
    if (row.first_number != 0) {
      const auto number = json::find_integer(document.root(), "number");
      if (number.value_or(row.first_number) != row.number) continue;
    }
    json::Writer writer;
    writer.begin_object().member("At", timestamp_of(at->integer().value_or(0)));
    writer.member("TurnId", row.turn_id);
    for (const auto& [name, value] : data->members()) {
      writer.name(name.text()).raw(value.source());
    }
    events.push_back({.id = row.number * kEventsPerTurn + index->integer().value_or(0),
                      .kind = std::string(json::find_text(document.root(), "kind")),
                      .data = writer.end_object().take()});
  }
  return events;
}

std::string backend_data(const Choice& choice) { return begin(choice).end_object().take(); }

std::string started_data(const Choice& choice, int attempt) {
  return begin(choice).member("Attempt", attempt).end_object().take();
}

std::string ended_data(const Choice& choice, int attempt, dispatch::Seconds took,
                       const AgentResult& result) {
  json::Writer writer = begin(choice);
  writer.member("Attempt", attempt).member("Milliseconds", milliseconds(took));
  if (result.error) {
    const auto& error = *result.error;
    writer.member("ErrorCode", error.code.value_or("aborted"));
    if (error.status_code) writer.member("Status", *error.status_code);
    if (dispatch::is_own_timeout(error) && error.type) writer.member("ErrorType", *error.type);
    writer.member("Retryable", error.retryable.value_or(false));
  } else if (result.finish_reason) {
    writer.member("FinishReason", *result.finish_reason);
  }
  if (const auto& data = result.provider_data) {
    if (const auto id = data->find_text("request_id")) writer.member("RequestId", *id);
  }
  write_spent(writer, result);
  return writer.end_object().take();
}

std::string waiting_data(const Choice& choice, dispatch::Seconds wait, const Why& why) {
  const double seconds = static_cast<double>(milliseconds(wait)) / 1'000;
  json::Writer writer = begin(choice);
  if (wait > 0) writer.member("Seconds", seconds);
  return ended(writer, why);
}

std::string why_data(const Choice& choice, const Why& why) {
  json::Writer writer = begin(choice);
  return ended(writer, why);
}

std::string switched_data(const Choice& from, const Choice& to, const Why& why) {
  json::Writer writer;
  writer.begin_object().member("From", from.backend).member("FromModel", from.model);
  writer.member("To", to.backend).member("ToModel", to.model);
  return ended(writer, why);
}

Diary::Diary(const store::Turn& turn, std::string earlier, std::int64_t after)
    : turn_number_(turn.number),
      turn_id_(turn.turn_id),
      earlier_(std::move(earlier)),
      next_index_(std::max(turn.round * kEventsPerRound, after) + 1) {}

void Diary::add(std::string_view kind, store::Milliseconds at, std::string_view data) {
  const MutexLock lock(mutex_);
  if (next_index_ % kEventsPerRun == kEventsPerRun - 1) return;  // Full.
  lines_ += event_line({turn_number_, next_index_++}, kind, at, data);
}

std::string Diary::lines() const {
  const MutexLock lock(mutex_);
  return earlier_ + lines_.substr(taken_);
}

std::string Diary::take_lines() {
  const MutexLock lock(mutex_);
  if (!earlier_.empty()) return lines_;
  taken_ = lines_.size();
  return lines_;
}

void Diary::give_back_lines() {
  const MutexLock lock(mutex_);
  taken_ = 0;
}

std::vector<DiaryEvent> Diary::after(std::int64_t last_id) const {
  std::string lines;
  {
    const MutexLock lock(mutex_);
    lines = lines_;
  }
  std::vector<DiaryEvent> events =
      events_of({.number = turn_number_, .turn_id = turn_id_, .events = std::move(lines)});
  std::erase_if(events, [&](const DiaryEvent& event) { return event.id <= last_id; });
  return events;
}

}  // namespace treaty::turns
