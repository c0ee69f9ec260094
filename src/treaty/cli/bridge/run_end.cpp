#include "treaty/cli/bridge/run_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "treaty/base/text.h"
#include "treaty/bridge/names.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using bridge::DriveFault;
using bridge::Exchange;

// What became of the last answer, for whoever asks why the program does not take it.
std::string last_answer_text(const Exchange& exchange) {
  const std::string path = harmless(exchange.response.path);
  switch (exchange.answer) {
    case bridge::AnswerState::none: return "its answer was removed";
    case bridge::AnswerState::stale:
      return fmt::format("the answer in {} is older than the request", path);
    case bridge::AnswerState::unreadable:
    case bridge::AnswerState::torn:
    case bridge::AnswerState::broken:
    case bridge::AnswerState::foreign:
      return fmt::format("{} no longer contains the answer to this request", path);
    case bridge::AnswerState::answered: break;
  }
  const auto& outcome = exchange.response.document->outcome;
  if (std::holds_alternative<contracts::BridgeSuccess>(outcome)) {
    return fmt::format("the answer is in {}", path);
  }
  const auto* error = std::get_if<contracts::BridgeError>(&outcome);
  return fmt::format(
      "the answer in {} says: {}", path,
      harmless(error != nullptr ? error->error_message
                                : std::get<contracts::BridgeTimeout>(outcome).error_message));
}

// Asks the agent again, with the options of this run.
std::vector<std::string> answer_command(const Exchange& exchange, const DrivenRun& run) {
  std::vector<std::string> words = {"treaty",    "bridge", "answer",
                                    "--replace", "--dir",  run.directory};
  const std::string phase = bridge::phase_key(exchange);
  if (parse_number<std::int64_t>(phase)) words.insert(words.end(), {"--phase", phase});
  for (std::size_t i = 0; i + 1 < run.words.size(); i += 2) {
    if (run.words[i] == "--max-resumes") continue;
    words.insert(words.end(), {run.words[i], run.words[i + 1]});
  }
  return words;
}

RunEnd end_without_request(const DrivenRun& run) {
  RunEnd end{.exit_code = kViolated, .reason = "no_request", .request_in = run.request_in};
  const std::string place = harmless(run.directory);
  if (run.request_in.empty()) {
    end.message = fmt::format(
        "the program exited with 42, but there is no request in {}\n"
        "Next: it has to write {} there (TREATY_BRIDGE_DIR names the directory) "
        "before it exits; --dir DIR names another directory",
        place, bridge::request_name(""));
    return end;
  }
  std::vector<std::string> words = {"treaty", "bridge", "run", "--dir", run.request_in};
  std::ranges::copy(run.words, std::back_inserter(words));
  end.message = fmt::format(
      "the program exited with 42, and its request is in {}, not in {}\n"
      "Next: {} -- {}",
      harmless(run.request_in), place, harmless(shell_line(words)),
      harmless(shell_line(run.command)));
  return end;
}

}  // namespace

RunEnd end_of_stop(const bridge::Stop& stop, std::span<const Exchange> exchanges,
                   const DrivenRun& run) {
  if (stop.fault == DriveFault::no_request) return end_without_request(run);
  const Exchange& exchange = exchanges[stop.place];
  switch (stop.fault) {
    case DriveFault::no_request: break;
    case DriveFault::broken_request:
      return {
          kViolated, "broken_request",
          fmt::format("the request in {} cannot be used: {}\n"
                      "Next: correct the program that writes it; `treaty check bridge-request {}` "
                      "lists every fault",
                      harmless(exchange.request.path), harmless(exchange.request.problem),
                      shell_word(harmless(exchange.request.path)))};
    case DriveFault::same_request:
      return {kTryLater, "same_request",
              fmt::format(
                  "the program asks again what has been answered ({}); {}\n"
                  "Next: correct the program (run with --resume, it has to read the answer), then "
                  "give the same command again; or ask the agent again: {}",
                  request_text(exchange), last_answer_text(exchange),
                  harmless(shell_line(answer_command(exchange, run))))};
    case DriveFault::too_many_resumes: break;
  }
  return {kTryLater, "too_many_resumes",
          fmt::format("{} was answered {} times and the program still asks\n"
                      "Next: `treaty bridge log --dir {}` shows its questions; --max-resumes N "
                      "allows more",
                      phase_text(exchange), run.most_resumes, shell_word(harmless(run.directory)))};
}

std::string request_id_of(const Exchange& exchange) {
  return exchange.request.document->request_id;
}

std::string request_text(const Exchange& exchange) {
  return fmt::format("{}, request_id {}", phase_text(exchange), harmless(request_id_of(exchange)));
}

}  // namespace treaty::cli
