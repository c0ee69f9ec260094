#include "treaty/bridge/driving.h"

#include <algorithm>

namespace treaty::bridge {
namespace {

bool was_answered(const Exchange& exchange, const RunMemory& run) {
  return exchange.is_asked() && run.answered.contains(exchange.request.document->request_id);
}

template <class Test>
std::vector<std::size_t> places(std::span<const Exchange> exchanges, const Test& test) {
  std::vector<std::size_t> found;
  for (std::size_t place = 0; place < exchanges.size(); ++place) {
    if (test(exchanges[place])) found.push_back(place);
  }
  return found;
}

}  // namespace

// Requests of phases that are over may still lie there, with their answers or without: they count
// only when nothing else was asked.
Next after_need(std::span<const Exchange> exchanges, const RunMemory& run, int most_resumes) {
  auto fresh = places(
      exchanges, [&](const Exchange& one) { return one.is_asked() && !was_answered(one, run); });
  for (const std::size_t place : fresh) {
    const auto count = run.answers.find(phase_key(exchanges[place]));
    if (count != run.answers.end() && count->second >= most_resumes) {
      return Stop{DriveFault::too_many_resumes, place};
    }
  }
  auto waiting = fresh;
  std::erase_if(waiting, [&](std::size_t place) { return !exchanges[place].waits(); });
  if (!waiting.empty()) return AnswerRequests{std::move(waiting)};
  if (!fresh.empty()) return Resume{std::move(fresh)};
  const auto broken = places(exchanges, [](const Exchange& one) {
    return one.request.state != FileState::absent && !one.is_asked();
  });
  if (!broken.empty()) return Stop{DriveFault::broken_request, broken.front()};
  const auto again = places(exchanges, [&](const Exchange& one) { return was_answered(one, run); });
  if (!again.empty()) return Stop{DriveFault::same_request, again.back()};
  return Stop{DriveFault::no_request};
}

}  // namespace treaty::bridge
