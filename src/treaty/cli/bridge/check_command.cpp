// `treaty bridge check`: the request and the answer of a directory, together.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/files.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/diagnosis/remedy.h"
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

Checked checked_answer(const Exchange& exchange, const std::vector<bridge::Entry>& journal) {
  Checked checked = checked_file(exchange.response, "bridge-response");
  if (checked.trouble || !checked.verdict.valid()) return checked;
  if (exchange.request.state == FileState::absent) {
    // A host may delete a request that was answered.
    if (bridge::is_known_answer(exchange, journal)) return checked;
    checked.trouble = "is an answer without a request";
  } else if (bridge::answers_earlier_question(exchange)) {
    checked.trouble =
        "is stale: it answers an earlier question, for which the program used the same request_id";
  } else if (exchange.answer == AnswerState::stale) {
    checked.trouble =
        fmt::format("it is stale: it was created at {}, before its request ({})",
                    exchange.response.document->created_at, exchange.request.document->created_at);
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
  Report(bool json, bool is_fixed, const std::string& directory, std::vector<bridge::Entry> journal)
      : json_(json), is_fixed_(is_fixed), journal_(std::move(journal)) {
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
      if (is_fixed_) checked.verdict = bridge::verdict_after_repair(exchange.request);
      add(checked);
    }
    if (exchange.response.state != FileState::absent) {
      Checked checked = checked_answer(exchange, journal_);
      if (is_fixed_) checked.verdict = bridge::verdict_after_repair(exchange, exchange.response);
      add(checked);
    } else if (!json_ && exchange.is_asked()) {
      print("{}: not there yet; the request waits\n", harmless(exchange.response.path));
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
  bool json_;
  bool is_fixed_;  // What is still broken was not repaired, and the report says why.
  std::vector<bridge::Entry> journal_;
  std::vector<std::string> doctor_ = {"treaty", "bridge", "doctor"};
  bool colors_ = stdout_has_colors();
  CheckTally tally_{};
};

Result<int> run(const Arguments& arguments) {
  const std::string given = chosen_directory("bridge check", arguments, Needs::request_or_answer);
  TREATY_TRY(const auto resolved, resolved_directory(given));
  if (arguments.has("--fix")) TREATY_TRY_VOID(fix(resolved, given));
  const auto exchanges = bridge::read_judged_exchanges(given);
  if (!exchanges) return unusable(exchanges.error(), kViolated);
  auto journal = bridge::read_journal(bridge::journal_path(given));
  Report report(wants_json(arguments), arguments.has("--fix"), given,
                journal ? std::move(journal->entries) : std::vector<bridge::Entry>());
  for (const Exchange& exchange : *exchanges) report.add(exchange);
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
