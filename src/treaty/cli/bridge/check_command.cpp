// `treaty bridge check`: the request and the answer of a directory, together.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/files.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
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

Checked checked_request(const Exchange& exchange) {
  Checked checked = checked_file(exchange.request, "bridge-request");
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

// What is in the directory, after --fix if that was asked for.
struct Files {
  std::vector<Exchange> exchanges{};
  std::vector<bridge::StrayAnswer> strays{};
  std::vector<bridge::Entry> journal{};
};

Result<Files> read_files(const std::string& directory) {
  Files files;
  if (auto journal = bridge::read_journal(bridge::journal_path(directory))) {
    files.journal = std::move(journal->entries);
  }
  const auto answered = bridge::answered_requests(files.journal);
  auto exchanges = bridge::read_judged_exchanges(directory, answered);
  if (!exchanges) return unusable(exchanges.error(), kViolated);
  files.exchanges = *std::move(exchanges);
  files.strays = bridge::find_stray_answers(directory, files.exchanges, answered);
  return files;
}

class Report {
 public:
  Report(bool json, bool is_fixed, const std::string& directory, const Files& files)
      : json_(json),
        is_fixed_(is_fixed),
        files_(files),
        remedies_(
            {files.exchanges, files.journal, seconds_of_timestamp(timestamp_now()).value_or(0)}) {
    if (directory != ".") doctor_.insert(doctor_.end(), {"--dir", directory});
  }

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
      Checked checked = checked_request(exchange);
      if (is_explained(checked)) explain(checked, bridge::verdict_after_repair(exchange.request));
      add(checked);
    }
    if (exchange.response.state != FileState::absent) {
      Checked checked = checked_answer(exchange, remedies_.of(exchange), files_.journal);
      if (is_explained(checked)) {
        explain(checked, bridge::verdict_after_repair(exchange, exchange.response));
      }
      add(checked);
    } else if (!json_ && exchange.is_asked()) {
      print("{}: {}\n", harmless(exchange.response.path), harmless(why_absent(exchange)));
    }
    if (const bridge::StrayAnswer* stray = stray_of(exchange)) {
      add(misplaced({.file = stray->path,
                     .document = stray->path,
                     .contract = "bridge-response",
                     .profile = "strict"},
                    bridge::stray_text(exchange)));
    }
  }

  int finish() {
    if (!json_) {
      if (tally_.documents == 0) {
        print("no request and no answer is here\n");
      } else {
        print("{}", human_summary(tally_, colors_));
        if (is_fixed_ && tally_.refused > 0) {
          print_error("treaty bridge check: what is left has no single repair\nNext: {}\n",
                      harmless(shell_line(doctor_)));
        }
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

  const bridge::StrayAnswer* stray_of(const Exchange& exchange) const {
    if (!exchange.waits()) return nullptr;
    const auto found = std::ranges::find(files_.strays, exchange.request.document->request_id,
                                         &bridge::StrayAnswer::request_id);
    return found == files_.strays.end() ? nullptr : &*found;
  }

  std::string why_absent(const Exchange& exchange) const {
    const Exchange* other = remedies_.place_of_answer_to(exchange);
    const bridge::StrayAnswer* stray = stray_of(exchange);
    if (other == nullptr && stray == nullptr) return "not there yet; the request waits";
    return fmt::format("not there; the answer is in {}",
                       other != nullptr ? other->response.path : stray->path);
  }

  bool json_;
  bool is_fixed_;
  const Files& files_;
  bridge::Remedies remedies_;
  std::vector<std::string> doctor_ = {"treaty", "bridge", "doctor"};
  bool colors_ = stdout_has_colors();
  CheckTally tally_{};
};

Result<int> run(const Arguments& arguments) {
  const std::string given = chosen_directory("bridge check", arguments, Needs::anything);
  TREATY_TRY(const auto resolved, resolved_directory(given));
  if (arguments.has("--fix")) TREATY_TRY_VOID(fix(resolved, given));
  TREATY_TRY(const Files files, read_files(given));
  Report report(wants_json(arguments), arguments.has("--fix"), given, files);
  for (const Exchange& exchange : files.exchanges) report.add(exchange);
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
