#include "treaty/cli/machine/run_report.h"

#include <fmt/format.h>

#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::cli {
namespace {

using machines::Outcome;
using machines::Status;

constexpr double kLargestWhole = 9e15;

void write_number(json::Writer& writer, double number) {
  if (std::abs(number) < kLargestWhole && std::floor(number) == number) {
    writer.value(static_cast<std::int64_t>(number));
  } else {
    writer.value(number);
  }
}

std::string resume_hint(const Outcome& outcome, const std::optional<std::string>& options) {
  if (!options) return "";
  return fmt::format("  Go on with: treaty machine resume {}{}\n", shell_word(outcome.execution),
                     *options);
}

std::string signal_hint(const Outcome& outcome, const std::optional<std::string>& options) {
  if (!options) return "";
  return fmt::format("  Send it with: treaty machine signal {} DATA --resume{}\n",
                     shell_word(outcome.channel), *options);
}

}  // namespace

std::string outcome_json(const Outcome& outcome, const machines::List* hooks) {
  json::Writer writer;
  writer.begin_object().member("status", name_of(outcome.status));
  writer.member("execution_id", outcome.execution);
  if (outcome.status == Status::completed) {
    writer.name("output");
    json::write(writer, outcome.output);
  }
  writer.name("path").begin_array();
  for (const std::string& state : outcome.path) writer.value(state);
  writer.end_array();
  if (!outcome.error.empty()) {
    writer.name("error");
    json::write(writer, outcome.error);
  }
  if (outcome.status == Status::lost) {
    writer.name("error").begin_object();
    writer.member("code", "store_error").member("message", outcome.trouble.message).end_object();
  }
  writer.member("calls", outcome.calls).name("waits").begin_array();
  for (const double wait : outcome.waits) write_number(writer, wait);
  writer.end_array();
  if (!outcome.channel.empty()) writer.member("channel", outcome.channel);
  if (hooks != nullptr) {
    writer.name("hooks");
    json::write(writer, machines::Dynamic(*hooks));
  }
  return writer.end_object().take();
}

std::string outcome_text(const Outcome& outcome, const std::optional<std::string>& options) {
  switch (outcome.status) {
    case Status::completed: return json_lines_of(outcome.output) + "\n";
    case Status::failed: {
      const std::string state = machines::text_of(outcome.error, "state");
      return fmt::format("failed{}: {} ({})\n{}", state.empty() ? "" : " in " + harmless(state),
                         harmless(machines::sentence_of(outcome.error)),
                         harmless(machines::text_of(outcome.error, "code")),
                         resume_hint(outcome, options));
    }
    case Status::waiting:
      return fmt::format("waiting for a signal on {}\n", harmless(outcome.channel)) +
             signal_hint(outcome, options);
    case Status::interrupted: return "interrupted\n" + resume_hint(outcome, options);
    case Status::lost: return fmt::format("stopped: {}\n", harmless(outcome.trouble.message));
  }
  return "";
}

int exit_code_of(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::completed: return kOk;
    case Status::failed: return kViolated;
    case Status::waiting: return kMachineWaits;
    case Status::interrupted: return kTryLater;
    case Status::lost: break;
  }
  return outcome.trouble.code == ErrorCode::conflict ? kTryLater : kUnavailable;
}

}  // namespace treaty::cli
