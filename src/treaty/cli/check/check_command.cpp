#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/cli/check/check_report.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/contract_words.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/contract.h"
#include "treaty/contracts/repair.h"

namespace treaty::cli::check {
namespace {

using contracts::Contract;
using contracts::DecodeOptions;

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kContinuation = "continuation";

struct Job {
  std::optional<Contract> contract;  // Nothing: told from each document.
  std::string profile;
  DecodeOptions options;
  std::string format;
  bool ndjson = false;
  bool fix = false;
  bool in_place = false;
};

// Writes each verdict as it comes, but for SARIF, which is one document.
class Reporter {
 public:
  explicit Reporter(std::string format) : format_(std::move(format)) {}

  void add(Checked checked) {
    tally_.add(checked);
    if (format_ == "human") {
      print("{}", human_report(checked, colors_));
    } else if (format_ == "json") {
      print_document(json_report(checked));
    } else {
      checked.text.clear();
      all_.push_back(std::move(checked));
    }
  }

  int finish() {
    if (format_ == "human") print("{}", human_summary(tally_, colors_));
    if (format_ == "sarif") print_document(sarif_report(all_));
    return tally_.refused == 0 ? kOk : kViolated;
  }

 private:
  std::string format_;
  bool colors_ = stdout_has_colors();
  CheckTally tally_;
  std::vector<Checked> all_;
};

Checked check_text(const Job& job, const std::string& file, std::string text,
                   std::size_t line = 0) {
  Checked checked{.file = file,
                  .document = line == 0 ? file : fmt::format("{}:{}", file, line),
                  .contract = std::string(kAuto),
                  .profile = job.profile,
                  .text = std::move(text),
                  .first_line = std::max<std::size_t>(1, line)};
  contracts::DetectedVerdict told =
      job.contract
          ? contracts::DetectedVerdict{job.contract,
                                       contracts::check(*job.contract, checked.text, job.options)}
          : contracts::check_detected(checked.text, job.options);
  checked.verdict = std::move(told.verdict);
  if (told.contract) {
    checked.contract = contracts::name_of(*told.contract);
  } else if (checked.verdict.valid()) {
    checked.trouble = contracts::kUnknownContract;
  }
  return checked;
}

Checked troubled(const Job& job, const Error& error) {
  const bool directory = error.code == ErrorCode::is_directory;
  return {.file = error.where,
          .document = error.where,
          .contract = std::string(job.contract ? contracts::name_of(*job.contract) : kAuto),
          .profile = job.profile,
          .trouble = error.message + (directory ? "; --recursive checks the files in it" : "")};
}

void check_lines(const Job& job, const std::string& path, Reporter& reporter) {
  const auto read =
      read_each_line(path, job.options.max_size, [&](std::string line, std::size_t number) {
        reporter.add(check_text(job, path, std::move(line), number));
        return kOk;
      });
  if (!read) reporter.add(troubled(job, read.error()));
}

void tell_repairs(const std::string& path, const contracts::Repaired& repaired) {
  for (const std::string& repair : repaired.repairs) {
    print_error("{}: repaired {}\n", harmless(path), harmless(repair));
  }
}

contracts::Repaired repair(const Job& job, const std::string& text) {
  const std::optional<Contract> contract =
      job.contract ? job.contract : contracts::detect_contract(text, job.options.max_size);
  return contract ? contracts::repair_text(*contract, text, job.options)
                  : contracts::Repaired{text};
}

// What has to be repaired by hand: the mending profile also says why it has no single reading.
Checked check_unrepaired(const Job& job, const std::string& path, const std::string& text) {
  Checked checked = check_text(job, path, text);
  if (checked.valid()) return checked;
  Job mending = job;
  mending.options.profile = contracts::Profile::mending;
  Checked explained = check_text(mending, path, text);
  return explained.valid() ? checked : explained;
}

// Writes the repaired document only if it is valid: a program that waits for the file shall not
// find another broken one there.
void fix_in_place(const Job& job, const std::string& path, const std::string& text,
                  Reporter& reporter) {
  const contracts::Repaired repaired = repair(job, text);
  Checked checked = check_text(job, path, repaired.text);
  if (repaired.text == text) {
    reporter.add(check_unrepaired(job, path, text));
    return;
  }
  if (!checked.valid()) {
    print_error(
        "{}: left as it is: --fix cannot repair all of it (without --in-place it prints the "
        "document with what it can repair)\n",
        harmless(path));
    reporter.add(check_unrepaired(job, path, text));
    return;
  }
  if (const auto written = replace_file(path, repaired.text); !written) {
    reporter.add(troubled(job, written.error()));
    return;
  }
  tell_repairs(path, repaired);
  reporter.add(std::move(checked));
}

// The repaired document on stdout; what was done, and what is left to do, on stderr.
int print_fixed(const Job& job, const std::string& path) {
  const auto text = read_input(path, job.options.max_size);
  if (!text) return tell_unreadable(text.error());
  const contracts::Repaired repaired = repair(job, *text);
  tell_repairs(path, repaired);
  // Of a document over the limit there is only a part: nothing to print.
  if (text->size() <= job.options.max_size) print_document(repaired.text);
  const Checked checked = check_unrepaired(job, path, repaired.text);
  if (checked.valid()) return kOk;
  print_error("{}", human_report(checked, false));
  return kViolated;
}

void check_file(const Job& job, const std::string& path, Reporter& reporter) {
  if (job.ndjson) {
    check_lines(job, path, reporter);
    return;
  }
  auto text = read_input(path, job.options.max_size);
  if (!text) {
    reporter.add(troubled(job, text.error()));
  } else if (job.in_place) {
    fix_in_place(job, path, *text, reporter);
  } else {
    reporter.add(check_text(job, path, std::move(*text)));
  }
}

Result<int> check_the_continuation(const Job& job, const std::vector<std::string>& files) {
  if (files.size() != 2) {
    return misused("a continuation takes two files: PENDING SUBMITTED");
  }
  std::array<Checked, 2> checked;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto text = read_input(files[i], job.options.max_size);
    if (!text) {
      Checked trouble = troubled(job, text.error());
      trouble.contract = kContinuation;
      Reporter reporter(job.format);
      reporter.add(std::move(trouble));
      return reporter.finish();
    }
    checked[i] = {.file = files[i],
                  .document = files[i],
                  .contract = std::string(kContinuation),
                  .profile = job.profile,
                  .text = std::move(*text)};
  }
  const auto verdict = contracts::check_continuation(checked[0].text, checked[1].text, job.options);
  checked[0].verdict = verdict.pending;
  checked[1].verdict = verdict.submitted;
  if (job.format == "json") {
    print_document(json_report(verdict));
  } else if (job.format == "sarif") {
    print_document(sarif_report({checked.begin(), checked.end()}));
  } else {
    print("{}", human_report(verdict, checked[0], checked[1], stdout_has_colors()));
  }
  return verdict.valid() ? kOk : kViolated;
}

// The id of the request that an answer is compared with. Nothing else of it matters here.
std::expected<std::string, Error> read_request_id(const std::string& path) {
  TREATY_TRY(const auto text, read_input(path, DecodeOptions().max_size));
  const json::Document document(text);
  if (const auto root = document.root(); root && root->is_object()) {
    if (const auto id = root->members().find("request_id");
        id && id->is_string() && !is_blank(id->text())) {
      return std::string(id->text());
    }
  }
  return fail(ErrorCode::not_a_document, "is no bridge request: it has no request_id", path);
}

Result<Job> read_job(const Arguments& arguments) {
  if (arguments.positionals.empty())
    return misused("which contract? treaty check CONTRACT FILE...");
  const std::string& name = arguments.positionals[0];
  Job job{.contract = contracts::contract_named(name),
          .profile = arguments.get("--profile"),
          .options = {},
          .format = arguments.get("--format"),
          .ndjson = arguments.has("--ndjson"),
          .fix = arguments.has("--fix"),
          .in_place = arguments.has("--in-place")};
  if (!job.contract && name != kAuto && name != kContinuation) {
    if (std::error_code ignored; std::filesystem::exists(name, ignored)) {
      return misused(fmt::format("the contract comes first: treaty check auto {}", name));
    }
    return misused(
        fmt::format("there is no contract \"{}\"; there are request, response, "
                    "invoke-result, agent-result, bridge-request, bridge-response, "
                    "assistant, continuation and auto",
                    name));
  }
  if (arguments.positionals.size() < 2) return misused("which file? - reads standard input");
  if (job.in_place && !job.fix) return misused("--in-place goes with --fix");
  if (job.fix && job.ndjson) return misused("--fix repairs whole files, not the lines of --ndjson");
  const auto streams = std::ranges::count(arguments.positionals, "-");
  if (streams > 1) return misused("standard input can be read once");
  if (streams == 1 && job.in_place) return misused("--in-place needs a file, not standard input");
  if (name == kContinuation && (job.fix || job.ndjson || arguments.has("--recursive"))) {
    return misused("a continuation is two documents: no --fix, --ndjson or --recursive");
  }
  job.options.profile =
      job.profile == "lenient" ? contracts::Profile::lenient : contracts::Profile::strict;
  job.options.role =
      arguments.get("--role") == "consumer" ? contracts::Role::consumer : contracts::Role::producer;
  const std::string inner = arguments.get("--inner");
  job.options.inner = inner == "json"   ? contracts::Inner::json
                      : inner == "text" ? contracts::Inner::text
                                        : contracts::Inner::automatic;
  job.options.now = timestamp_now();
  if (arguments.has("--max-size")) {
    const auto size = parse_number<std::size_t>(arguments.get("--max-size"));
    if (!size || *size == 0) return misused("--max-size takes a number of bytes");
    job.options.max_size = *size;
  }
  if (arguments.has("--request")) {
    const auto id = read_request_id(arguments.get("--request"));
    if (!id) return misused(fmt::format("--request {} {}", id.error().where, id.error().message));
    job.options.request_id = *id;
  }
  return job;
}

// One document repaired on stdout.
Result<int> run_fix(const Job& job, const std::vector<std::expected<std::string, Error>>& paths) {
  int code = kOk;
  for (const auto& path : paths) {
    if (path) continue;
    code = tell_unreadable(path.error());
  }
  if (code != kOk) return code;
  if (paths.size() == 1) return print_fixed(job, *paths[0]);
  return misused("--fix prints one repaired document; --in-place takes several");
}

Result<int> run(const Arguments& arguments) {
  TREATY_TRY(const auto job, read_job(arguments));
  const std::vector<std::string> files(arguments.positionals.begin() + 1,
                                       arguments.positionals.end());
  if (arguments.positionals[0] == kContinuation) return check_the_continuation(job, files);
  const auto below = job.ndjson ? Expand::ndjson_below : Expand::directories;
  const auto paths = expand_paths(files, arguments.has("--recursive") ? below : Expand::globs);
  if (job.fix && !job.in_place) return run_fix(job, paths);
  Reporter reporter(job.format);
  for (const auto& path : paths) {
    if (path) {
      check_file(job, *path, reporter);
    } else {
      reporter.add(troubled(job, path.error()));
    }
  }
  return reporter.finish();
}

}  // namespace

Command command() {
  return {
      .name = "check",
      .positionals = "CONTRACT FILE...|-",
      .summary = "Tell whether documents keep a contract, by rule and place",
      .description = R"(CONTRACT is request, response, invoke-result, agent-result, bridge-request,
bridge-response, assistant, or auto (told from the members of each document).
`check continuation PENDING SUBMITTED` matches tool results with the calls that wait.
FILE may be a glob, or a directory with --recursive. Exit 0: all valid, 1: not, 2: usage.)",
      .options = {{"--profile", "", "Refuse, or repair and warn", {"strict", "lenient"}},
                  {"--role", "", "Of an assistant response", {"producer", "consumer"}},
                  {"--request", "FILE", "The bridge request that is answered (BRS-12)"},
                  {"--inner", "", "Read a bridge response's text as", {"auto", "json", "text"}},
                  {"--fix", "", "Print the document with all that has one repair repaired"},
                  {"--in-place", "",
                   "With --fix: write back each document that the repairs make valid"},
                  {"--format", "", "How to report", {"human", "json", "sarif"}},
                  {"--recursive", "",
                   "The .json files below directories; .ndjson, .jsonl with --ndjson"},
                  {"--ndjson", "", "Every line of a file is a document"},
                  {"--max-size", "BYTES", "Largest document (default 16777216)"}},
      .examples = {{"check response answer.json", "Is this an AgentExecuteResponse?"},
                   {"check auto --recursive examples", "Everything in a directory"},
                   {"check bridge-response .agent-response.json --request .agent-request.json",
                    "An answer, and whether it answers that request"},
                   {"check bridge-response --fix --in-place .agent-response.json "
                    "--request .agent-request.json",
                    "Repair a response file that was written by hand"},
                   {"check continuation pending.json submitted.json --format json",
                    "Do these results answer those calls?"}},
      .words = contract_words({"auto", "continuation"}),
      .run = run,
  };
}

}  // namespace treaty::cli::check
