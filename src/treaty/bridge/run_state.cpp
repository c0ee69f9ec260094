#include "treaty/bridge/run_state.h"

#include <algorithm>
#include <limits>

#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

constexpr std::string_view kAsked = "request.asked";
constexpr std::string_view kGivenUp = "request.given_up";

AskedRequest asked_request(const Entry& entry) {
  return {.request_id = text_in(entry, "request_id"),
          .session_id = text_in(entry, "session_id"),
          .turn_id = text_in(entry, "turn_id"),
          .agent = text_in(entry, "agent"),
          .at = entry.at,
          .options = entry.details.find_texts("options"),
          .from = text_in(entry, "from")};
}

bool is_true(const Entry& entry, std::string_view name) {
  return entry.details.find_boolean(name).value_or(false);
}

void start_program(RunState& run, const Entry& entry) {
  run.stage = Stage::started;
  run.resumed = is_true(entry, "resume");
  run.program.reset();
  const auto pid = entry.details.find_integer("pid");
  const bool can_be = pid && *pid > 0 && *pid <= std::numeric_limits<pid_t>::max();
  const std::string started = text_in(entry, "started");
  // Without its start it cannot be told from whoever has its number now.
  if (can_be && !started.empty()) {
    run.program = Process{static_cast<pid_t>(*pid), started, text_in(entry, "boot")};
  }
}

void end_program(RunState& run, const Entry& entry) {
  run.program.reset();
  const auto code = entry.details.find_integer("code");
  if (!code) return;  // It was killed, and can be started again.
  run.stage = *code == kNeedAgent ? Stage::needs : Stage::over;
  run.exit_code = static_cast<int>(*code);
}

// A run that was stopped goes on when it is started again, with its counts at zero: whoever starts
// it again wants another try.
void end_run(RunState& run, const Entry& entry) {
  if (is_true(entry, "final")) {
    run = {};
  } else {
    run.answers.clear();
  }
}

void take(RunState& run, const Entry& entry) {
  if (entry.event == "run.started") {
    run = {.options = entry.details.find_texts("options"),
           .from = text_in(entry, "from"),
           .command = entry.details.find_texts("command")};
  } else if (entry.event == "program.started") {
    start_program(run, entry);
  } else if (entry.event == "program.exited") {
    end_program(run, entry);
  } else if (is_answer(entry)) {
    ++run.answers[text_in(entry, "phase_key")];
    run.answered[text_in(entry, "request_id")] = answered_question(entry);
  } else if (entry.event == "run.ended") {
    end_run(run, entry);
  }
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

RunState replay_run(std::span<const Entry> entries) {
  RunState run;
  for (const Entry& entry : entries) take(run, entry);
  return run;
}

std::map<std::string, AskedRequest> open_requests(std::span<const Entry> entries) {
  std::map<std::string, AskedRequest> open;
  for (const Entry& entry : entries) {
    const std::string id = text_in(entry, "request_id");
    if (entry.event == kAsked) {
      open[id] = asked_request(entry);
    } else if (is_answer(entry) || entry.event == kGivenUp) {
      open.erase(id);
    }
  }
  return open;
}

std::optional<AskedRequest> last_asked(std::span<const Entry> entries,
                                       std::string_view request_id) {
  const auto found =
      std::ranges::find_if(entries.rbegin(), entries.rend(), [&](const Entry& entry) {
        return (entry.event == kAsked || entry.event == kGivenUp) &&
               text_in(entry, "request_id") == request_id;
      });
  return found == entries.rend() ? std::nullopt : std::optional(asked_request(*found));
}

std::string phase_key(const Exchange& exchange) {
  const auto& request = exchange.request.document;
  if (request && request->phase) return std::to_string(*request->phase);
  if (const auto number = phase_of_suffix(exchange.suffix)) return std::to_string(*number);
  return request ? request->phase_name.value_or("") : "";
}

// Requests of phases that are over may still lie there, with their answers or without: they count
// only when nothing else was asked.
Next after_need(std::span<const Exchange> exchanges, const RunState& run, int most_resumes) {
  auto fresh = places(exchanges, [&](const Exchange& one) {
    return one.is_asked() && !was_answered(one, run.answered);
  });
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
  const auto again =
      places(exchanges, [&](const Exchange& one) { return was_answered(one, run.answered); });
  if (!again.empty()) return Stop{DriveFault::same_request, again.back()};
  return Stop{DriveFault::no_request};
}

}  // namespace treaty::bridge
