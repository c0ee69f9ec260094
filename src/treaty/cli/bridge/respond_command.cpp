// `treaty bridge respond`: writes the envelope around an answer, so that nobody writes it by hand.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/run_state.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/envelope.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_respond {
namespace {

namespace fs = std::filesystem;

using bridge::Exchange;
using bridge::FileState;

constexpr std::size_t kLargest = std::size_t{16} << 20U;  // JSON-03.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::unexpected<CommandFailure> refuse(std::string_view message, std::string_view next = {}) {
  return failed_with(kViolated, harmless(message), harmless(next));
}

// Everything but the text, which may take its time.
Result<GivenAnswer> read_options(const Arguments& arguments) {
  const std::string status = arguments.get("--status");
  GivenAnswer given{.status = status == "error"     ? GivenStatus::error
                              : status == "timeout" ? GivenStatus::timeout
                                                    : GivenStatus::success,
                    .error_message = arguments.get("--error"),
                    .error_type = arguments.get("--error-type"),
                    .agent = arguments.get("--agent"),
                    .model = arguments.get("--model")};
  if (given.status == GivenStatus::success) {
    if (arguments.has("--error") || arguments.has("--error-type")) {
      return misused("a success has no error; --error goes with --status error");
    }
    return given;
  }
  if (arguments.has("--error") && is_blank(given.error_message)) {
    return misused("--error is empty; say what went wrong");
  }
  if (given.status == GivenStatus::error && !arguments.has("--error")) {
    return misused("an error says what went wrong: --error MESSAGE");
  }
  if (given.status == GivenStatus::timeout && !given.error_type.empty() &&
      given.error_type != "timeout") {
    return misused("the type of a timeout is timeout; --error-type goes with --status error");
  }
  return given;
}

// Which request is meant: by its phase, by its file, or because it is the only one that waits.
struct Selection {
  std::string directory = ".";
  std::string phase{};
  std::optional<std::string> suffix{};
  std::string request_file{};  // Of any name, which is good for printing only.
  bool settled_too = false;    // One that is answered may be meant.
};

Result<Selection> read_selection(const Arguments& arguments) {
  Selection selection{.directory = arguments.get("--dir", "."),
                      .phase = arguments.get("--phase"),
                      .settled_too = arguments.has("--replace") || arguments.has("--stdout")};
  if (!arguments.has("--request")) {
    selection.directory = chosen_directory("bridge respond", arguments, Needs::request);
    return selection;
  }
  if (!selection.phase.empty()) return misused("give --request or --phase, not both");
  const fs::path file(arguments.get("--request"));
  const std::string parent = file.has_parent_path() ? file.parent_path().string() : ".";
  std::error_code failed;
  if (arguments.has("--dir") && !fs::equivalent(parent, selection.directory, failed)) {
    return misused("--request names a file of another directory than --dir; one is enough");
  }
  if (!arguments.has("--dir")) selection.directory = parent;
  selection.request_file = file.string();
  selection.suffix = bridge::suffix_of_request(file.filename().string());
  if (!selection.suffix && !arguments.has("--stdout")) {
    return misused(
        "--request names no request file (.agent-request.json, .agent-request-phaseN.json); a file "
        "of another name needs --stdout, which prints the answer");
  }
  return selection;
}

std::string list_of(const std::vector<const Exchange*>& exchanges) {
  std::vector<std::string> lines;
  lines.reserve(exchanges.size());
  for (const Exchange* exchange : exchanges) {
    lines.push_back(fmt::format("{} ({})", exchange->request.path, phase_text(*exchange)));
  }
  return fmt::format("{}", fmt::join(lines, ", "));
}

Result<Exchange> choose_among(const std::vector<Exchange>& exchanges, const Selection& selection) {
  std::vector<const Exchange*> waiting;
  std::vector<const Exchange*> settled;
  std::vector<const Exchange*> others;          // Requests of other phases,
  std::vector<const Exchange*> others_waiting;  // and those of them that wait.
  const Exchange* broken = nullptr;
  for (const Exchange& exchange : exchanges) {
    if (!selection.phase.empty() && bridge::phase_key(exchange) != selection.phase) {
      if (exchange.is_asked()) others.push_back(&exchange);
      if (exchange.waits()) others_waiting.push_back(&exchange);
      continue;
    }
    if (selection.suffix && exchange.suffix != *selection.suffix) continue;
    if (exchange.is_asked()) {
      (exchange.waits() ? waiting : settled).push_back(&exchange);
    } else if (exchange.request.state != FileState::absent) {
      broken = &exchange;
    }
  }
  const auto& meant = waiting.empty() && selection.settled_too ? settled : waiting;
  if (meant.size() == 1) return *meant.front();
  if (meant.size() > 1) {
    return misused(
        fmt::format("several requests are there: {}; choose one with --phase N or "
                    "--request FILE",
                    list_of(meant)));
  }
  if (broken != nullptr) {
    return refuse(fmt::format("{}: {}", broken->request.path, broken->request.problem),
                  "treaty bridge doctor tells more");
  }
  if (!settled.empty()) {
    return refuse(
        fmt::format("already answered: {}", list_of(settled)),
        "run the program with --resume; --replace writes a new answer and keeps the old one "
        "in the quarantine");
  }
  if (!others_waiting.empty()) {
    return refuse(fmt::format("no request of phase {} waits; these do: {}", selection.phase,
                              list_of(others_waiting)),
                  "choose one of them with --phase N or --request FILE");
  }
  if (!others.empty()) {
    return refuse(fmt::format("there is no request of phase {}; the requests here are answered: {}",
                              selection.phase, list_of(others)),
                  "treaty bridge doctor shows what each of them needs");
  }
  return refuse(
      selection.suffix ? fmt::format("{} does not exist", selection.request_file)
                       : "there is no request in this directory",
      "run the program until it exits with 42, or name the directory of its request: --dir DIR");
}

// The request file of another name, as if it stood where it belongs.
Result<Exchange> read_other_file(const std::string& path) {
  Exchange exchange{.request = bridge::read_request(path)};
  if (exchange.is_asked()) return exchange;
  return refuse(fmt::format("{}: {}", path,
                            exchange.request.state == FileState::absent ? "is not there"
                                                                        : exchange.request.problem),
                "treaty check bridge-request tells more");
}

Result<Exchange> choose(const Selection& selection) {
  if (!selection.request_file.empty() && !selection.suffix) {
    return read_other_file(selection.request_file);
  }
  const auto exchanges = bridge::read_judged_exchanges(selection.directory);
  if (!exchanges) {
    return refuse(text_of(exchanges.error()), "treaty bridge doctor tells more");
  }
  return choose_among(*exchanges, selection);
}

// Whether standard input is a pipe with a text, or a file. A host that only leaves its own input
// open has not, and is not waited for.
bool has_waiting_input() {
  int size = 0;
  return isatty(STDIN_FILENO) == 0 && ioctl(STDIN_FILENO, FIONREAD, &size) == 0 && size > 0;
}

Result<void> read_text(const Arguments& arguments, GivenAnswer& given) {
  const bool is_named = arguments.has("--text");
  if (given.status != GivenStatus::success && !is_named) {
    if (has_waiting_input()) {
      print_error(
          "treaty bridge respond: a failure has no text, so standard input is not read; --text - "
          "adds it as the response\n");
    }
    return {};
  }
  const std::string path = arguments.get("--text", "-");
  if (path == "-" && isatty(STDIN_FILENO) == 1) {
    print_error("treaty bridge respond: type the answer, then Ctrl-D\n");
  }
  auto text = read_input(path, kLargest);
  if (!text) return refuse(text_of(text.error()));
  if (text->size() > kLargest) {
    return refuse("the answer is larger than 16 MiB", "let the agent write a file, and name it");
  }
  // An agent that failed prints nothing, too: emptiness has to be meant.
  if (given.status == GivenStatus::success && path == "-" && is_blank(*text)) {
    return refuse("there is nothing on standard input",
                  "--status error --error MESSAGE when the agent failed; --text FILE with an empty "
                  "file when the empty answer is meant");
  }
  if (text->starts_with(kByteOrderMark)) {
    text->erase(0, kByteOrderMark.size());
    print_error("treaty bridge respond: the byte order mark is left out\n");
  }
  given.text = *std::move(text);
  return {};
}

// The request may be another one by now: reading the text took its time.
Result<int> write(const Selection& selection, const Exchange& chosen,
                  const contracts::BridgeResponse& response, bridge::Existing existing) {
  const auto resolved = bridge::resolve_directory(selection.directory);
  if (!resolved) return refuse(resolved.error().message);
  TREATY_TRY(auto driver, open_driver("respond", *resolved));
  const Exchange exchange = bridge::read_exchange(driver.directory(), chosen.suffix);
  if (!exchange.is_asked() || exchange.request.document->request_id != response.request_id) {
    return refuse("the request has changed meanwhile; nothing is written",
                  "look at the request, then answer that one");
  }
  if (const auto written = driver.write_answer(exchange, response, existing); !written) {
    return failed_with(exit_code_of(written.error()), text_of(written.error()),
                       "treaty bridge doctor tells more");
  }
  print("{}: written; it answers {}\n", harmless(chosen.response.path),
        harmless(response.request_id));
  return kOk;
}

Result<int> run(const Arguments& arguments) {
  TREATY_TRY(auto given, read_options(arguments));
  TREATY_TRY(const auto selection, read_selection(arguments));
  if (const auto there = bridge::resolve_directory(selection.directory); !there) {
    return refuse(text_of(there.error()), "name a directory that is there: --dir DIR");
  }
  TREATY_TRY(const auto chosen, choose(selection));
  TREATY_TRY_VOID(read_text(arguments, given));
  const auto response = wrap_answer(*chosen.request.document, given, timestamp_now());
  if (!response) return refuse(response.error());
  if (arguments.has("--stdout")) {
    print_document(contracts::encode(*response));
    return kOk;
  }
  return write(selection, chosen, *response,
               arguments.has("--replace") ? bridge::Existing::replace : bridge::Existing::keep);
}

}  // namespace

Command command() {
  return {
      .name = "respond",
      .summary = "Write the response file for an answer of yours, with its envelope",
      .description =
          R"(Takes the answer from standard input, as text or as JSON, and writes the response file
of the request that waits: all nine members, whole or not at all. The text stays as it
is; JSON (an object or a list) gets metadata.content_type. Empty input is refused, but
for an empty file that --text names.
Exit: 0 written, 1 nothing waits, or the answer cannot be taken, 2 wrong usage, 69 it
cannot be written, 75 another driver has the directory.)",
      .options = joined({directory_options(),
                         {{"--phase", "N", "Of several requests, the one of this phase"},
                          {"--request", "FILE", "The request that is answered"},
                          {"--status", "", "How it went", {"success", "error", "timeout"}},
                          {"--error", "MESSAGE", "What went wrong"},
                          {"--error-type", "TYPE", "Which kind of error, such as rate_limit"},
                          {"--text", "FILE", "The answer; - is standard input, as without --text"},
                          {"--agent", "NAME", "Who answered, for metadata.agent"},
                          {"--model", "NAME", "With which model, for metadata.model"},
                          {"--replace", "", "Answer once more; the answer that is there is kept"},
                          {"--stdout", "", "Print the response file instead of writing it"}}}),
      .examples = {{"bridge respond < answer.md", "Answer the request in this directory"},
                   {"bridge respond --status error --error \"no access\" --error-type auth_error",
                    "Say that it went wrong"},
                   {"bridge respond --text review.json --model opus --stdout",
                    "Look at the response file first"}},
      .run = run,
  };
}

}  // namespace treaty::cli::bridge_respond
