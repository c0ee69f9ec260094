// `treaty bridge run`: drives a program that asks agents by files.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "treaty/base/try.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/drive.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_run {
namespace {

constexpr const char* kCommand = "bridge run";

std::expected<DriveOptions, std::string> read_options(const Arguments& arguments) {
  DriveOptions options{.command = arguments.positionals, .fresh = arguments.has("--fresh")};
  if (options.command.empty()) {
    return std::unexpected("name the program to drive, after --: treaty bridge run -- ./program");
  }
  if (arguments.has("--max-resumes")) {
    options.most_resumes = read_number<int>(arguments.get("--max-resumes")).value_or(0);
    if (options.most_resumes < 1) return std::unexpected("--max-resumes is a number from 1 on");
  }
  TREATY_TRY(auto ask, read_ask_options(kCommand, arguments));
  options.ask = std::move(ask);
  return options;
}

// All but --dir and --fresh, as they were given: for whoever is told how to go on.
std::vector<std::string> words_of(const Arguments& arguments) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  for (const auto& [name, value] : arguments.options) {
    if (name != "--dir" && name != "--fresh") add(name, value);
  }
  for (const auto& [name, values] : arguments.lists) {
    for (const std::string& value : values) add(name, value);
  }
  return words;
}

// Told before anything is touched.
int tell_unstartable(const std::string& program, int failure) {
  const bool missing = failure == ENOENT || failure == ENOTDIR;
  print_error("treaty {}: {} cannot be started: {}\n", kCommand, harmless(program),
              std::strerror(failure));
  return missing ? kNotFound : kNotStarted;
}

int run(const Arguments& arguments, const OpenGateway& open) {
  auto options = read_options(arguments);
  if (!options) return wrong_usage(kCommand, options.error());
  options->words = words_of(arguments);
  const auto directory = named_directory(kCommand, arguments);
  if (!directory) return directory.error();
  const std::string& program = options->command.front();
  if (const int failure = find_program(program)) return tell_unstartable(program, failure);
  // nohup has it ignored, and so it stays.
  Signals signals =
      is_ignored(SIGHUP) ? Signals{SIGINT, SIGTERM} : Signals{SIGINT, SIGTERM, SIGHUP};
  auto agents = open_agent_clients(kCommand, arguments, open, std::span(&*directory, 1));
  if (!agents) return agents.error();
  auto driver = open_driver(kCommand, *directory);
  if (!driver) return driver.error();
  return Drive(*driver, *std::move(agents), signals, *std::move(options)).run();
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "run",
      .positionals = "-- PROGRAM ARGS...",
      .summary = "Drive a program that asks agents: run, answer, resume, until it is done",
      .description =
          R"(Runs the program. When it leaves with 42, its request (.agent-request.json, or
.agent-request-phaseN.json) is run as a turn of an agent, the answer is written
(.agent-response.json), and the program is run again with --resume added. Any other exit
is the exit of this command. The program finds the directory in TREATY_BRIDGE_DIR.
A run that was interrupted (kill -9, a signal, 75) goes on when the same command is given
again: what was answered is not asked again. Leftovers of others are kept in
.treaty-bridge/quarantine. Progress goes to stderr.
Exit: the program's own; 1 it left with 42 and no usable request, 2 wrong usage, 69 no
agent or no disk, 75 it asks the same again, asks too often, or another driver has the
directory, 78 bad configuration, 126/127 the program cannot be started, 128 + a signal.)",
      .options = joined({directory_options(),
                         {{"--max-resumes", "N", "Answers of one phase before it gives up (5)"},
                          {"--fresh", "", "Begin anew, whatever an interrupted run has left"}},
                         asking_options()}),
      .examples = {{"bridge run -- python3 review.py", "Drive a program in this directory"},
                   {"bridge run --agent reviewer --dir work -- ./build.sh",
                    "With an agent of the configuration"},
                   {"bridge run --url http://127.0.0.1:8088 -- ./program",
                    "On a server that runs already"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::bridge_run
