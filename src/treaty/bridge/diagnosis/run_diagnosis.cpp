// What the journal tells of runs: interrupted, stopped, failed.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/bridge/diagnosis/wording.h"
#include "treaty/bridge/names.h"

namespace treaty::bridge {
namespace {

std::int64_t exit_in(const Entry& entry) { return entry.details.find_integer("exit").value_or(0); }

// How the last run ended; nothing when it was gone on with, or nobody saw its end.
const Entry* last_end(const DirectoryView& view) {
  const auto& entries = view.journal.entries;
  const auto last = std::find_if(entries.rbegin(), entries.rend(), [](const Entry& entry) {
    return entry.event.starts_with("run.") || entry.event.starts_with("program.");
  });
  return last != entries.rend() && last->event == "run.ended" ? &*last : nullptr;
}

// What the last run drove, whether or not it has come to its end.
RunMemory last_run(const DirectoryView& view) {
  const auto& entries = view.journal.entries;
  const auto last = std::find_if(entries.rbegin(), entries.rend(),
                                 [](const Entry& entry) { return entry.event == "run.started"; });
  return last == entries.rend() ? RunMemory{} : remember_run(std::span(&*last, 1));
}

// The first sentence; what comes behind it is what to do next, which is told here, too.
std::string first_line(const std::string& message) { return message.substr(0, message.find('\n')); }

std::string why_interrupted(const DirectoryView& view, const Entry* end) {
  if (view.program_runs) return "its driver was ended; the program still runs";
  if (end == nullptr) return "its driver was ended: killed, or with the machine";
  const std::string message = first_line(text_in(*end, "message"));
  return message.empty() ? std::string(kind_of(Ailment::run_interrupted).why) : message;
}

bool has_request(const DirectoryView& view) {
  return std::ranges::any_of(view.exchanges, [](const Exchange& exchange) {
    return exchange.request.state != FileState::absent;
  });
}

// Its beginning may be among the lines that are damaged.
std::vector<Words> go_on_with(const DirectoryView& view, const RunMemory& run) {
  if (run.command.empty()) return {bridge_command(view, "log")};
  return run_again(view, run);
}

void look_at_open_run(const DirectoryView& view, const RunMemory& run, const Entry* end,
                      std::vector<Diagnosis>& found) {
  const std::string reason = end == nullptr ? "" : text_in(*end, "reason");
  const std::string message = end == nullptr ? "" : first_line(text_in(*end, "message"));
  if (reason == "same_request") {
    found.push_back(
        make_diagnosis(Ailment::run_asks_again, message, {}, {bridge_command(view, "log")}));
  } else if (reason == "too_many_resumes") {
    found.push_back(
        make_diagnosis(Ailment::run_asks_too_often, message, {}, {bridge_command(view, "log")}));
  } else if (reason == "no_request" && !has_request(view)) {
    found.push_back(make_diagnosis(Ailment::run_without_request, {}, {}, go_on_with(view, run)));
  } else {
    const bool is_known = !run.command.empty();
    found.push_back(
        make_diagnosis(Ailment::run_interrupted,
                       fmt::format("a run{}{} was interrupted {}", is_known ? " of " : "",
                                   fmt::join(run.command, " "),
                                   run.stage == Stage::needs ? "before its request was answered"
                                                             : "while the program ran"),
                       why_interrupted(view, end), go_on_with(view, run)));
  }
}

void look_at_ended_run(const DirectoryView& view, const Entry& end, std::vector<Diagnosis>& found) {
  const std::string reason = text_in(end, "reason");
  const RunMemory run = last_run(view);
  if (reason == "exited" && exit_in(end) != 0) {
    found.push_back(
        make_diagnosis(Ailment::run_failed,
                       fmt::format("the last program that was driven ({}) ended with {}",
                                   fmt::join(run.command, " "), exit_in(end)),
                       {}, {bridge_command(view, "log")}));
  } else if (reason == "not_started") {
    found.push_back(make_diagnosis(Ailment::run_failed, first_line(text_in(end, "message")),
                                   "nothing was run, and nothing was asked", {}));
  }
}

}  // namespace

bool was_taken(const DirectoryView& view, std::string_view request_id) {
  bool answered = false;
  for (const Entry& entry : view.journal.entries) {
    if (is_answer(entry) && text_in(entry, "request_id") == request_id) answered = true;
    if (answered && entry.event == "program.started") return true;
  }
  return false;
}

void diagnose_run(const DirectoryView& view, std::vector<Diagnosis>& found) {
  if (view.lock.state == LockState::held) return;
  const RunMemory run = remember_run(view.journal.entries);
  const Entry* end = last_end(view);
  if (run.stage != Stage::none) {
    look_at_open_run(view, run, end, found);
  } else if (end != nullptr) {
    look_at_ended_run(view, *end, found);
  }
}

}  // namespace treaty::bridge
