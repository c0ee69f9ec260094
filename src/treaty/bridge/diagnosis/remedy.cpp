#include "treaty/bridge/diagnosis/remedy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/diagnosis/view.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/questions.h"
#include "treaty/contracts/text/handwritten_json.h"

namespace treaty::bridge {
namespace {

constexpr std::string_view kMissing = "BRS-01";
constexpr std::string_view kStatus = "BRS-05";

std::string time_of(const FileVersion& version) {
  constexpr std::int64_t kNanosecondsOfOne = 1'000'000;  // Millisecond.
  return timestamp_of(version.changed_at / kNanosecondsOfOne);
}

// An answer without a time was made when its file was: one that is older than the request stays
// older.
contracts::DecodeOptions options_for(const Exchange& exchange) {
  contracts::DecodeOptions options{.now = time_of(exchange.response.version)};
  if (exchange.request.document) options.request_id = exchange.request.document->request_id;
  return options;
}

contracts::Repaired repaired_text(const Exchange& exchange) {
  if (exchange.response.state == FileState::whole) return {exchange.response.text};
  return contracts::repair_text(contracts::Contract::bridge_response, exchange.response.text,
                                options_for(exchange));
}

// The request elsewhere in the directory that a text answers, unless it answers the one in its
// place.
const Exchange* owner_of(const std::string& text, const Exchange& exchange,
                         std::span<const Exchange> exchanges) {
  const std::string id = answered_id(text);
  if (id.empty()) return nullptr;
  const auto asks = [&](const Exchange& one) {
    return one.is_asked() && contracts::is_same_request_id(one.request.document->request_id, id);
  };
  if (asks(exchange)) return nullptr;
  const auto owner = std::ranges::find_if(exchanges, [&](const Exchange& other) {
    return other.suffix != exchange.suffix && asks(other);
  });
  return owner == exchanges.end() ? nullptr : &*owner;
}

std::string_view reason_of(const Exchange& exchange) {
  return exchange.request.state == FileState::absent ? "orphaned" : name_of(AnswerState::foreign);
}

// A broken answer of this very request.
Remedy remedy_for_broken(const Exchange& exchange, contracts::Repaired repaired,
                         std::span<const Entry> journal) {
  auto decoded = contracts::decode_bridge_response(repaired.text, options_for(exchange));
  if (!decoded) {
    const bool is_foreign = std::ranges::any_of(
        decoded.error(),
        [](const contracts::Finding& finding) { return finding.rule == "BRS-12"; });
    return is_foreign ? Remedy{Act::put_away, name_of(AnswerState::foreign)} : Remedy{};
  }
  if (repaired.repairs.empty()) return {};
  Exchange whole{.suffix = exchange.suffix,
                 .request = exchange.request,
                 .response = {.state = FileState::whole, .document = std::move(*decoded)}};
  whole.answer = judge(whole.request, whole.response);
  // A time that got its zone may turn out to be yesterday's.
  const bool is_stale = judge_answer(whole, answered_requests(journal)) == AnswerState::stale;
  Remedy remedy{.act = is_stale ? Act::put_away : Act::repair,
                .reason = is_stale ? name_of(AnswerState::stale) : std::string_view(),
                .repaired = std::move(repaired),
                .document = std::move(whole.response.document)};
  return remedy;
}

// An answer that belongs to `owner`, whose place may be taken.
Remedy remedy_for_misplaced(const Exchange& exchange, const Exchange& owner,
                            const Surroundings& around) {
  const auto answer = owner.answer;
  if (answer == AnswerState::none) return {.act = Act::move, .owner = &owner};
  if (answer == AnswerState::unreadable || is_being_written(owner.response, around.now) ||
      !is_replaceable(owner.response)) {
    return {.act = Act::leave, .owner = &owner};
  }
  contracts::Repaired there = repaired_text(owner);
  const Exchange* next = owner_of(there.text, owner, around.exchanges);
  if (next != nullptr && next->waits()) return {.act = Act::swap, .owner = &owner};
  if (answer == AnswerState::answered ||
      (answer == AnswerState::broken &&
       remedy_for_broken(owner, std::move(there), around.journal).act == Act::repair)) {
    return {.act = Act::put_away, .reason = reason_of(exchange), .owner = &owner};
  }
  return {.act = Act::move, .owner = &owner};
}

template <class Document>
VerdictOfText verdict_by(contracts::Contract contract, const BridgeFile<Document>& file,
                         const contracts::DecodeOptions& options) {
  if (file.state != FileState::broken) return {file.verdict, file.text};
  // A fence hides what is inside it, which may report a failure.
  std::string text = contracts::rewrite_as_json(file.text).text;
  contracts::Verdict mending = contracts::check(contract, text, options);
  if (mending.valid()) return {file.verdict, file.text};
  mending.warnings.clear();  // What has one reading, and would be repaired.
  // While the status is unknown, so is every other missing member that follows from it.
  const auto is_missing = [](const contracts::Finding& finding) {
    return finding.rule.text() == kMissing;
  };
  const auto is_status = [&](const contracts::Finding& finding) {
    return finding.where == "/status" && (is_missing(finding) || finding.rule.text() == kStatus);
  };
  if (std::ranges::any_of(mending.violations, is_status)) {
    std::erase_if(mending.violations, [&](const contracts::Finding& finding) {
      return is_missing(finding) && !is_status(finding);
    });
  }
  return {std::move(mending), std::move(text)};
}

}  // namespace

VerdictOfText verdict_after_repair(const Exchange& exchange, const ResponseFile& file) {
  contracts::DecodeOptions options = options_for(exchange);
  options.profile = contracts::Profile::mending;
  return verdict_by(contracts::Contract::bridge_response, file, options);
}

VerdictOfText verdict_after_repair(const RequestFile& file) {
  return verdict_by(contracts::Contract::bridge_request, file,
                    {.profile = contracts::Profile::mending});
}

bool is_bare_text(const std::string& text) {
  if (!is_utf8(text) || text.contains("request_id") || text.contains("\"status\"")) return false;
  const std::string_view begin = trimmed(text);
  if (begin == "null") return false;  // It says nothing.
  if (begin.starts_with("Traceback (most recent call last)")) return false;
  if (!begin.starts_with('{') && !begin.starts_with("```")) return true;
  constexpr std::array<std::string_view, 4> kTelling = {"response", "result", "error",
                                                        "duration_seconds"};
  // As JSON quotes a name, and as Python prints one.
  return std::ranges::none_of(kTelling, [&](std::string_view name) {
    return text.contains(fmt::format("\"{}", name)) || text.contains(fmt::format("'{}", name));
  });
}

bool breaks(const contracts::Verdict& verdict, std::string_view rule) {
  return std::ranges::any_of(verdict.violations, [&](const contracts::Finding& finding) {
    return finding.rule.text() == rule;
  });
}

bool is_known_answer(const Exchange& exchange, std::span<const Entry> journal) {
  if (exchange.request.state != FileState::absent || !exchange.response.document) return false;
  const std::string& id = exchange.response.document->request_id;
  return std::ranges::any_of(journal, [&](const Entry& entry) { return answers(entry, id); });
}

Remedy remedy_for(const Exchange& exchange, const Surroundings& around) {
  const ResponseFile& file = exchange.response;
  const bool is_orphan = exchange.request.state == FileState::absent;
  // What cannot be read as a request may still be meant as one: its answer is not judged.
  if (!is_orphan && !exchange.is_asked()) return {};
  if (exchange.is_asked() && exchange.answer == AnswerState::answered) return {};
  if (file.state == FileState::absent || file.state == FileState::unreadable) return {};
  if (exchange.is_asked() && !is_replaceable(file)) return {};
  if (file.state == FileState::torn) {
    if (is_being_written(file, around.now)) return {};
    return {.act = Act::put_away, .reason = is_orphan ? "orphaned" : name_of(AnswerState::torn)};
  }
  contracts::Repaired repaired = repaired_text(exchange);
  if (const Exchange* owner = owner_of(repaired.text, exchange, around.exchanges)) {
    if (is_same_file(owner->response, file)) return {};  // Both requests name one response_file.
    return remedy_for_misplaced(exchange, *owner, around);
  }
  if (is_orphan) {
    if (is_known_answer(exchange, around.journal)) return {};
    return {.act = Act::put_away, .reason = reason_of(exchange)};
  }
  if (exchange.answer == AnswerState::broken) {
    return remedy_for_broken(exchange, std::move(repaired), around.journal);
  }
  return {.act = Act::put_away, .reason = name_of(exchange.answer)};  // Foreign or stale.
}

}  // namespace treaty::bridge
