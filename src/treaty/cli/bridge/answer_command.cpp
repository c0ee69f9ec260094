// `treaty bridge answer`: answers one waiting request and leaves.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "treaty/base/try.h"
#include "treaty/bridge/names.h"
#include "treaty/cli/bridge/ask_agent.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_answer {
namespace {

using bridge::Exchange;

constexpr const char* kCommand = "bridge answer";

// What became of the answer that a request had.
std::string lost_answer_text(const Exchange& exchange, const bridge::AnsweredQuestions& answered) {
  const std::string path = harmless(exchange.response.path);
  if (exchange.answer == bridge::AnswerState::none) return path + " is gone";
  if (exchange.answer == bridge::AnswerState::stale) {
    const bridge::StaleReason reason = bridge::stale_reason(exchange, answered);
    return fmt::format("{} {}", path, harmless(bridge::text_of(reason, exchange)));
  }
  return path + " is no longer that answer";
}

std::string next_for_unusable(const bridge::RequestFile& file) {
  const std::string path = harmless(file.path);
  if (file.state == bridge::FileState::broken) {
    return fmt::format(
        "correct the program that writes it; `treaty check bridge-request {}` lists every fault",
        shell_word(path));
  }
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "treaty bridge doctor"
                           : fmt::format("treaty bridge doctor --dir {}", shell_word(directory));
}

// The request that is to be answered, of those that are there.
Result<Exchange> choose(const std::vector<Exchange>& exchanges,
                        const bridge::AnsweredQuestions& answered, bool replaces,
                        const std::string& phase) {
  const Exchange* taken = nullptr;    // Its answer was taken away, and it asks the same again;
  const Exchange* settled = nullptr;  // its answer is there;
  const Exchange* broken = nullptr;   // it cannot be read.
  for (const Exchange& exchange : exchanges) {
    if (!phase.empty() && bridge::phase_key(exchange) != phase) continue;
    if (exchange.is_asked() && exchange.waits()) {
      if (replaces || !bridge::was_answered(exchange, answered)) return exchange;
      taken = &exchange;
    } else if (exchange.is_asked()) {
      settled = &exchange;
    } else if (exchange.request.state != bridge::FileState::absent) {
      broken = &exchange;
    }
  }
  if (settled != nullptr && replaces) return *settled;
  if (broken != nullptr) {
    const std::string path = harmless(broken->request.path);
    return failed_with(kViolated, fmt::format("{}: {}", path, harmless(broken->request.problem)),
                       next_for_unusable(broken->request));
  }
  if (taken != nullptr) {
    return failed_with(kTryLater,
                       fmt::format("{}: request {} was answered before: {}", phase_text(*taken),
                                   harmless(taken->request.document->request_id),
                                   lost_answer_text(*taken, answered)),
                       "the same command with --replace asks the agent again");
  }
  if (settled != nullptr) {
    return failed_with(kViolated,
                       fmt::format("no request waits: {} is answered, in {}", phase_text(*settled),
                                   harmless(settled->response.path)),
                       "run the program with --resume; the same command with --replace asks the "
                       "agent again");
  }
  return failed_with(kViolated,
                     phase.empty() ? "no request waits"
                                   : fmt::format("no request of phase {} waits", harmless(phase)),
                     "run the program until it exits with 42, or name its directory: --dir DIR");
}

Result<Exchange> choose_in(const std::string& directory, std::span<const bridge::Entry> journal,
                           const Arguments& arguments) {
  const auto answered = bridge::answered_requests(journal);
  const auto exchanges = bridge::read_judged_exchanges(directory, answered);
  if (!exchanges) return failed_with(kUnavailable, harmless(exchanges.error().message));
  return choose(*exchanges, answered, arguments.has("--replace"), arguments.get("--phase"));
}

// The same before the directory is locked: where nothing is to be answered, nothing is written.
Result<void> look_first(const std::string& directory, const Arguments& arguments) {
  const auto journal = bridge::read_journal(bridge::journal_path(directory));
  const auto lock = bridge::look_at_lock(bridge::lock_path(directory));
  const bool is_driven = lock.state == bridge::LockState::held;
  if (!journal || is_driven) return {};  // Opening the directory reports it.
  TREATY_TRY_VOID(choose_in(directory, journal->entries, arguments));
  return {};
}

Result<int> run(const Arguments& arguments, const OpenGateway& open) {
  TREATY_TRY(auto options, read_ask_options(kCommand, arguments));
  if (arguments.has("--replace")) options.existing = bridge::Existing::replace;
  TREATY_TRY(const auto directory,
             resolved_directory(chosen_directory(kCommand, arguments, Needs::request)));
  TREATY_TRY_VOID(look_first(directory, arguments));
  Signals signals{SIGINT, SIGTERM};
  TREATY_TRY(auto driver, open_driver("answer", directory));
  TREATY_TRY(const auto chosen, choose_in(directory, driver.history(), arguments));
  TREATY_TRY(const auto agents,
             open_agent_clients(kCommand, arguments, open, std::span(&directory, 1)));
  const AnswerOutcome reply = answer_shown(driver, *agents, signals, chosen, options);
  if (reply.signal != 0 && !reply.response) {
    return failed_with(128 + reply.signal, "interrupted; the request still waits");
  }
  if (!reply.response) {
    const FailureParts failure = parts_of(reply.failure);
    return failed_with(reply.exit_code, failure.message, failure.next);
  }
  print_error("treaty {}: {}\n", kCommand, answer_line(chosen, *reply.response));
  const bool success = std::holds_alternative<contracts::BridgeSuccess>(reply.response->outcome);
  return success ? kOk : kViolated;
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "answer",
      .summary = "Answer one waiting request and leave",
      .description =
          R"(For hosts that drive the loop themselves: the request that waits in the directory is run
as a turn of an agent, and the answer is written where the program looks for it. An
agent that fails or takes longer than timeout_seconds is an answer, too.
Exit: 0 answered, 1 the agent failed (the answer says so), or nothing waits, 2 wrong
usage, 69 no agent or no disk, 75 another driver has the directory, or the same was
answered before, 78 bad configuration.)",
      .options =
          joined({directory_options(),
                  {{"--phase", "N", "Of several requests, the one of this phase"},
                   {"--replace", "", "Ask again, and keep the answer that is there in quarantine"}},
                  asking_options()}),
      .examples = {{"bridge answer", "The request in this directory"},
                   {"bridge answer --dir work --agent reviewer", "With an agent of your own"},
                   {"bridge answer --replace", "Another try, after an answer that was an error"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::bridge_answer
