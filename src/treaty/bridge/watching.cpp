#include "treaty/bridge/watching.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "treaty/base/timestamp.h"

namespace treaty::bridge {
namespace {

constexpr double kSecond = 1e9;  // In nanoseconds.

std::int64_t nanoseconds_of(std::string_view timestamp) {
  return static_cast<std::int64_t>(seconds_of_timestamp(timestamp).value_or(0) * kSecond);
}

std::string refusal(std::string_view file, std::string_view problem) {
  return fmt::format("{}\n{}", file, problem);
}

}  // namespace

RequestTracker::RequestTracker(std::span<const Entry> history)
    : answered_(answered_requests(history)), open_(open_requests(history)) {
  for (const Entry& entry : history) {
    if (entry.event != "request.refused") continue;
    refusals_[refusal(text_in(entry, "file"), text_in(entry, "problem"))] =
        nanoseconds_of(entry.at);
  }
}

WatchStep RequestTracker::look(const Exchange& exchange) { return look_at(exchange, false); }

WatchStep RequestTracker::look_again(const Exchange& exchange) { return look_at(exchange, true); }

WatchStep RequestTracker::look_at(const Exchange& exchange, bool again) {
  Place& place = places_[exchange.suffix];
  const bool asks = !place.asking.empty();
  if (asks) place.is_outdated = true;
  switch (exchange.request.state) {
    case FileState::absent:
      if (asks) return Cancel{};
      places_.erase(exchange.suffix);
      return Leave{};
    case FileState::torn: return look_at_torn(exchange.request, place, again);
    case FileState::unreadable:
    case FileState::broken: return refuse(exchange.request, place, exchange.request.problem);
    case FileState::whole: break;
  }
  return look_at_whole(exchange, place, again);
}

WatchStep RequestTracker::look_at_torn(const RequestFile& request, Place& place, bool again) {
  if (place.told_of == request.version) return Leave{};
  if (!again || place.awaited != request.version) {
    place.awaited = request.version;
    return AwaitRest{};
  }
  place.told_of = request.version;
  place.told = request.problem;
  return TellTorn{};
}

WatchStep RequestTracker::look_at_whole(const Exchange& exchange, Place& place, bool again) {
  const RequestFile& request = exchange.request;
  const std::string& id = request.document->request_id;
  if (!place.asking.empty()) {
    if (place.asking == id) return Leave{};
    return Cancel{};
  }
  if (place.given_up == request.version) return Leave{};
  if (place.postponed == request.version && !again) return Leave{};
  const auto known = answered_.find(id);
  const bool is_known = known != answered_.end();
  if (is_known && !is_new_question(exchange, known->second)) {
    return look_at_known(exchange, place, known->second);
  }
  if (judge_answer(exchange, answered_) == AnswerState::answered) {
    const auto& response = exchange.response.document;
    answered_[id] = {.question = question_of(exchange),
                     .answer_created_at = response ? response->created_at : std::string()};
    open_.erase(id);
    return NoteAnswer{};
  }
  if (other_asking(id) != nullptr) {
    return refuse(request, place,
                  fmt::format("request_id {} is used twice: another request that is being answered "
                              "has it; give each its own",
                              id));
  }
  const auto open = open_.find(id);
  place.asking = id;
  place.version = request.version;
  place.question = question_of(exchange);
  return Ask{open == open_.end() ? std::nullopt : std::optional(open->second)};
}

// The program may have taken its answer away, and need not have taken its request.
WatchStep RequestTracker::look_at_known(const Exchange& exchange, Place& place,
                                        AnsweredQuestion& known) {
  const RequestFile& request = exchange.request;
  const Question question = question_of(exchange);
  const bool is_older = request.version.changed_at <= nanoseconds_of(known.at) ||
                        exchange.answer == AnswerState::answered;
  if (!known.question && is_older) known.question = question;
  if (known.question == question) return Leave{};
  return refuse(request, place,
                fmt::format("request_id {} is used twice: it was answered before; a new question "
                            "needs a new request_id, or a later created_at and other words",
                            request.document->request_id));
}

WatchStep RequestTracker::refuse(const RequestFile& request, Place& place, std::string problem) {
  if (place.told_of == request.version && place.told == problem) return Leave{};
  place.told_of = request.version;
  place.told = problem;
  const auto before = refusals_.find(refusal(request.path, problem));
  const bool is_journalled =
      before != refusals_.end() && before->second >= request.version.changed_at;
  return Refuse{std::move(problem), is_journalled};
}

const RequestTracker::Place* RequestTracker::other_asking(const std::string& request_id) const {
  const auto found = std::ranges::find_if(
      places_, [&](const auto& entry) { return entry.second.asking == request_id; });
  return found == places_.end() ? nullptr : &found->second;
}

bool RequestTracker::end(Place& place) {
  open_.erase(place.asking);
  place.asking.clear();
  place.postponed.reset();
  return std::exchange(place.is_outdated, false);
}

bool RequestTracker::answered(const std::string& suffix, const std::string& created_at) {
  Place& place = places_[suffix];
  answered_[place.asking] = {.question = place.question, .answer_created_at = created_at};
  return end(place);
}

bool RequestTracker::refused(const std::string& suffix) {
  Place& place = places_[suffix];
  place.given_up = place.version;
  return end(place);
}

bool RequestTracker::failed(const std::string& suffix, std::span<const Entry> history) {
  Place& place = places_[suffix];
  const std::string id = place.asking;
  const bool is_outdated = end(place);
  place.postponed = place.version;
  auto open = open_requests(history);
  if (const auto found = open.find(id); found != open.end()) open_[id] = found->second;
  return is_outdated;
}

bool RequestTracker::cancelled(const std::string& suffix) { return end(places_[suffix]); }

bool RequestTracker::is_asking(const std::string& suffix) const {
  const auto found = places_.find(suffix);
  return found != places_.end() && !found->second.asking.empty();
}

}  // namespace treaty::bridge
