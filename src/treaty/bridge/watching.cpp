#include "treaty/bridge/watching.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "treaty/base/timestamp.h"

namespace treaty::bridge {
namespace {

constexpr double kSecond = 1e9;  // In nanoseconds.

std::int64_t nanoseconds_of(const Entry& entry) {
  return static_cast<std::int64_t>(seconds_of_timestamp(entry.at).value_or(0) * kSecond);
}

std::string refusal(std::string_view file, std::string_view problem) {
  return fmt::format("{}\n{}", file, problem);
}

// What is asked, and when. Its context may change: a server that takes its question up again says
// there that it is another process now. The same question under another name is another one: its
// answer belongs elsewhere.
std::size_t content_of(const Exchange& exchange) {
  const auto& request = *exchange.request.document;
  return std::hash<std::string>()(fmt::format("{}\n{}\n{}\n{}", exchange.suffix, request.created_at,
                                              request.agent_name, request.prompt));
}

}  // namespace

RequestTracker::RequestTracker(std::span<const Entry> history) : open_(open_requests(history)) {
  for (const Entry& entry : history) {
    if (is_answer(entry)) {
      answered_[text_in(entry, "request_id")] = {.at = nanoseconds_of(entry)};
    } else if (entry.event == "request.refused") {
      refusals_[refusal(text_in(entry, "file"), text_in(entry, "problem"))] = nanoseconds_of(entry);
    }
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
  if (const auto known = answered_.find(id); known != answered_.end()) {
    return look_at_known(exchange, place, known->second);
  }
  if (exchange.answer == AnswerState::answered) {
    answered_[id] = {.content = content_of(exchange)};
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
  place.content = content_of(exchange);
  return Ask{open == open_.end() ? std::nullopt : std::optional(open->second)};
}

// The program may have taken its answer away, and need not have taken its request.
WatchStep RequestTracker::look_at_known(const Exchange& exchange, Place& place, Known& known) {
  const RequestFile& request = exchange.request;
  const std::size_t content = content_of(exchange);
  const bool is_older =
      request.version.changed_at <= known.at || exchange.answer == AnswerState::answered;
  if (!known.content && is_older) known.content = content;
  if (known.content == content) return Leave{};
  return refuse(request, place,
                fmt::format("request_id {} is used twice: it was answered before; a new question "
                            "needs a new one",
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

bool RequestTracker::answered(const std::string& suffix) {
  Place& place = places_[suffix];
  answered_[place.asking] = {.content = place.content};
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
