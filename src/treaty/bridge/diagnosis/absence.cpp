#include "treaty/bridge/diagnosis/absence.h"

#include <fmt/format.h>

#include <filesystem>

#include "treaty/base/timestamp.h"
#include "treaty/bridge/questions.h"
#include "treaty/bridge/run_state.h"

namespace treaty::bridge {
namespace {

// The journal has absolute paths, whatever the directory was called.
bool is_about(const Entry& entry, const std::string& path) {
  return std::filesystem::path(text_in(entry, "file")).filename() ==
         std::filesystem::path(path).filename();
}

// The entry that moved the answer to the quarantine; nullptr when treaty did not move it.
const Entry* last_putting_away(const Exchange& exchange, std::span<const Entry> journal) {
  const Entry* away = nullptr;
  for (const Entry& entry : journal) {
    if (answers(entry, exchange.request.document->request_id)) away = nullptr;
    if (entry.event == "file.quarantined" && is_about(entry, exchange.response.path)) away = &entry;
  }
  return away;
}

}  // namespace

Absence absence_of(const Exchange& exchange, std::span<const Entry> journal) {
  if (exchange.answer != AnswerState::none || !was_answered(exchange, answered_requests(journal))) {
    return Absence::waits;
  }
  const bool is_over = replay_run(journal).stage == Stage::none;
  const bool is_taken = was_taken(journal, exchange.request.document->request_id);
  return is_over && is_taken ? Absence::taken : Absence::gone;
}

std::string gone_text(const Exchange& exchange) {
  return fmt::format("{} was answered, and {} is gone", exchange.request.path,
                     exchange.response.path);
}

std::string why_gone(const Exchange& exchange, std::span<const Entry> journal) {
  const Entry* away = last_putting_away(exchange, journal);
  if (away == nullptr) return "it was deleted, and the request is still there";
  return fmt::format("treaty moved it to the quarantine, because it was {}: {}",
                     text_in(*away, "reason"), text_in(*away, "kept_as"));
}

std::string refusal_of(const Exchange& exchange, std::span<const Entry> journal) {
  constexpr double kNanosecond = 1e-9;
  const double written_at = static_cast<double>(exchange.request.version.changed_at) * kNanosecond;
  const std::string& id = exchange.request.document->request_id;
  std::string problem;
  for (const Entry& entry : journal) {
    const auto at = seconds_of_timestamp(entry.at);
    const bool is_asked = entry.event == "request.asked" && text_in(entry, "request_id") == id;
    if (entry.event == "request.refused" && is_about(entry, exchange.request.path) && at &&
        *at >= written_at) {
      problem = text_in(entry, "problem");
    } else if (is_asked || answers(entry, id)) {
      problem.clear();
    }
  }
  return problem;
}

}  // namespace treaty::bridge
