// `treaty bridge check`: the request and the answer of a directory, together.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "treaty/base/files.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/diagnosis/absence.h"
#include "treaty/bridge/diagnosis/diagnosis.h"
#include "treaty/bridge/diagnosis/placement.h"
#include "treaty/bridge/diagnosis/view.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/questions.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/mending.h"
#include "treaty/cli/check/check_report.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_check {
namespace {

using bridge::AnswerState;
using bridge::Exchange;
using bridge::FileState;

template <class Document>
Checked checked_file(const bridge::BridgeFile<Document>& file, std::string_view contract) {
  Checked checked{.file = file.path,
                  .document = file.path,
                  .contract = std::string(contract),
                  .profile = "strict",
                  .text = file.text,
                  .verdict = file.verdict};
  if (file.state == FileState::unreadable || file.state == FileState::torn) {
    checked.trouble = file.problem;
  }
  return checked;
}

// An answer of which only the place is judged.
Checked refused_file(const std::string& path, std::string text) {
  return {.file = path,
          .document = path,
          .contract = "bridge-response",
          .profile = "strict",
          .trouble = std::move(text)};
}

Checked checked_request(const Exchange& exchange, const std::vector<bridge::Entry>& journal) {
  Checked checked = checked_file(exchange.request, "bridge-request");
  if (exchange.is_asked()) {
    const std::string refusal = bridge::refusal_of(exchange, journal);
    if (!refusal.empty()) checked.trouble = fmt::format("was refused: {}", refusal);
  }
  // A response_file that is no place for an answer breaks no rule.
  if (exchange.request.state == FileState::broken && checked.verdict.valid()) {
    checked.trouble = exchange.request.problem;
  }
  return checked;
}

// Where it belongs comes before what it breaks: in the place of another request it has to break
// BRS-12.
Checked misplaced(Checked checked, std::string text) {
  checked.verdict = {};
  checked.trouble = std::move(text);
  return checked;
}

Checked checked_answer(const Exchange& exchange, const bridge::Remedy& remedy,
                       const std::vector<bridge::Entry>& journal) {
  Checked checked = checked_file(exchange.response, "bridge-response");
  if (checked.trouble) return checked;
  if (remedy.owner != nullptr) {
    return misplaced(std::move(checked), bridge::misplacement_text(remedy));
  }
  if (!checked.verdict.valid()) return checked;
  if (exchange.request.state == FileState::absent) {
    // A host may delete a request that was answered.
    if (bridge::is_known_answer(exchange, journal)) return checked;
    checked.trouble = "is an answer without a request";
  } else if (exchange.answer == AnswerState::stale) {
    const auto reason = bridge::stale_reason(exchange, bridge::answered_requests(journal));
    checked.trouble = fmt::format("is stale: it {}", bridge::text_of(reason, exchange));
  }
  return checked;
}

// A file of the directory by the name that the directory was given.
std::string shown(const std::string& path, const std::string& resolved, const std::string& given) {
  if (!path.starts_with(resolved + "/")) return harmless(path);
  return harmless(bridge::path_in(given, path.substr(resolved.size() + 1)));
}

void tell(const Mended& mended, const std::string& resolved, const std::string& given) {
  const std::string file = shown(mended.file, resolved, given);
  for (const std::string& repair : mended.repairs) {
    print_error("{}: repaired {}\n", file, harmless(repair));
  }
  if (mended.reason == kSwapped) {
    print_error("{0}: exchanged with {1}: each answered the request of the other\n", file,
                shown(mended.moved_to, resolved, given));
    return;
  }
  if (!mended.moved_to.empty()) {
    print_error("{}: moved to {}, the place of the request that it answers\n", file,
                shown(mended.moved_to, resolved, given));
    return;
  }
  print_error(
      "{}: {}; the original is kept as {}\n", file,
      mended.repairs.empty() ? fmt::format("put away, it is {}", mended.reason) : "rewritten",
      shown(mended.kept_as, resolved, given));
}

// Whether there is anything of the bridge, or anything that a killed writer left of it.
bool has_bridge_files(const std::string& directory) {
  std::error_code ignored;
  return std::ranges::any_of(names_in(directory, ignored), [](const std::string& name) {
    const std::string_view replaced = name_of_replaced(name);
    const std::string_view meant = replaced.empty() ? std::string_view(name) : replaced;
    return name == bridge::kFolder || bridge::suffix_of_request(meant) ||
           bridge::suffix_of_response(meant);
  });
}

// What was done is reported, even if something else could not be done.
Result<void> fix(const std::string& resolved, const std::string& given) {
  if (!has_bridge_files(resolved)) return {};
  TREATY_TRY(auto driver, open_driver("check", resolved));
  std::vector<Mended> done;
  const auto mended = mend_directory(driver, timestamp_now(), done);
  for (const Mended& one : done) tell(one, resolved, given);
  if (!mended) return unusable(mended.error(), kUnavailable);
  return {};
}

class Report {
 public:
  Report(bool json, bool is_fixed, const bridge::DirectoryView& view)
      : json_(json),
        is_fixed_(is_fixed),
        view_(view),
        remedies_({view.exchanges, view.journal.entries, view.now}) {}

  void add(const Checked& checked) {
    tally_.add(checked);
    if (json_) {
      print_document(repaired_utf8(json_report(checked)));
    } else {
      print("{}", human_report(checked, colors_));
    }
  }

  void add(const Exchange& exchange) {
    if (exchange.request.state != FileState::absent) {
      Checked checked = checked_request(exchange, view_.journal.entries);
      if (is_explained(checked)) explain(checked, bridge::verdict_after_repair(exchange.request));
      add(checked);
    }
    if (exchange.response.state != FileState::absent) {
      Checked checked = checked_answer(exchange, remedies_.of(exchange), view_.journal.entries);
      if (is_explained(checked)) {
        explain(checked, bridge::verdict_after_repair(exchange, exchange.response));
      }
      add(checked);
    } else if (exchange.is_asked()) {
      add_absent(exchange);
    }
    if (const bridge::StrayAnswer* stray = stray_of(exchange)) {
      add(refused_file(stray->path, bridge::stray_text(exchange)));
    }
  }

  int finish() {
    if (!json_) {
      if (tally_.documents == 0) {
        print("no request and no answer is here\n");
      } else {
        print("{}", human_summary(tally_, colors_));
        if (tally_.refused > 0) print_next();
      }
    }
    return tally_.refused == 0 ? kOk : kViolated;
  }

 private:
  // What is still broken after --fix was not repaired, and the report says why.
  bool is_explained(const Checked& checked) const { return is_fixed_ && !checked.trouble; }

  static void explain(Checked& checked, bridge::VerdictOfText after) {
    checked.verdict = std::move(after.verdict);
    checked.text = std::move(after.text);
  }

  std::vector<std::string> command(std::string verb) const {
    std::vector<std::string> words = {"treaty", "bridge", std::move(verb)};
    if (view_.directory != ".") words.insert(words.end(), {"--dir", view_.directory});
    return words;
  }

  // What a writer is at work on is neither broken nor torn yet.
  bool is_any_being_written() const {
    return std::ranges::any_of(view_.exchanges, [&](const Exchange& exchange) {
      return bridge::is_being_written(exchange.request, view_.now) ||
             bridge::is_being_written(exchange.response, view_.now);
    });
  }

  void print_next() const {
    std::fflush(stdout);  // It is the last line, also where both streams go to one place.
    std::vector<bridge::Words> next = bridge::next_commands(view_);
    if (next.empty() && is_any_being_written()) {
      next = {{"sleep", "2"}, command("check")};
      if (is_fixed_) next.back().emplace_back("--fix");
      print_error("treaty bridge check: a file is still being written\n");
    } else if (is_fixed_) {
      print_error("treaty bridge check: what is left has no single repair\n");
    }
    if (next.empty()) next = {command("doctor")};
    print_error("Next: {}\n", harmless(command_text(next)));
  }

  const bridge::StrayAnswer* stray_of(const Exchange& exchange) const {
    if (!exchange.waits()) return nullptr;
    const auto found = std::ranges::find(view_.strays, exchange.request.document->request_id,
                                         &bridge::StrayAnswer::request_id);
    return found == view_.strays.end() ? nullptr : &*found;
  }

  void add_absent(const Exchange& exchange) {
    const Exchange* other = remedies_.place_of_answer_to(exchange);
    const bridge::StrayAnswer* stray = stray_of(exchange);
    const bool is_elsewhere = other != nullptr || stray != nullptr;
    const bridge::Absence absence = bridge::absence_of(exchange, view_.journal.entries);
    if (absence == bridge::Absence::gone && !is_elsewhere) {
      const std::string why = bridge::why_gone(exchange, view_.journal.entries);
      add(refused_file(exchange.response.path,
                       fmt::format("{}: {}", bridge::gone_text(exchange), why)));
      return;
    }
    if (json_) return;
    const std::string text =
        is_elsewhere                        ? fmt::format("not there; the answer is in {}",
                                   other != nullptr ? other->response.path : stray->path)
        : absence == bridge::Absence::taken ? "not there; the program has taken it"
                                            : "not there yet; the request waits";
    print("{}: {}\n", harmless(exchange.response.path), harmless(text));
  }

  bool json_;
  bool is_fixed_;
  const bridge::DirectoryView& view_;
  bridge::Remedies remedies_;
  bool colors_ = stdout_has_colors();
  CheckTally tally_{};
};

Result<int> run(const Arguments& arguments) {
  const std::string given = chosen_directory("bridge check", arguments, Needs::anything);
  TREATY_TRY(const auto resolved, resolved_directory(given));
  if (arguments.has("--fix")) TREATY_TRY_VOID(fix(resolved, given));
  const bridge::DirectoryView view = bridge::look_at(given);
  if (view.presence != bridge::Presence::there) {
    return failed_with(kViolated, fmt::format("{}: cannot be read", harmless(given)),
                       "treaty bridge doctor");
  }
  Report report(wants_json(arguments), arguments.has("--fix"), view);
  for (const Exchange& exchange : view.exchanges) report.add(exchange);
  return report.finish();
}

}  // namespace

Command command() {
  return {
      .name = "check",
      .summary = "Check the requests and answers of a directory, together",
      .description =
          R"(Each request by its contract, each answer by its own, whether it belongs to the request
(BRS-12), and whether it is older than the request. --fix repairs what has one repair,
moves an answer to the place of its request, and puts away answers that are torn, stale,
of another request or without one; every original is kept in .treaty-bridge/quarantine.
Stderr has a line for everything that was done.
Exit: 0 in order (after repairs), 1 not, 2 wrong usage, 69 it cannot be written, 75
another driver has the directory.)",
      .options = joined(
          {directory_options(),
           {{"--fix", "", "Repair what has one repair; the originals are kept"}, format_option()}}),
      .examples = {{"bridge check", "Would the answer be taken?"},
                   {"bridge check --fix --dir work", "Mend what can be mended"}},
      .run = run,
  };
}

}  // namespace treaty::cli::bridge_check
