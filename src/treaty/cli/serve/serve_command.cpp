// `treaty serve`: the gateway over HTTP, until it is told to leave.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "treaty/base/files.h"
#include "treaty/base/ids.h"
#include "treaty/base/try.h"
#include "treaty/base/yaml.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/serve/welcome.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/program_name.h"
#include "treaty/cli/shared/signals.h"
#include "treaty/cli/terminal.h"
#include "treaty/config/load.h"
#include "treaty/config/show.h"

namespace treaty::cli::serve {
namespace {

using config::Configuration;

constexpr int kMostWorkers = 256;

Result<Configuration> configuration_of(const Arguments& arguments, int workers) {
  auto configuration = load_configuration("serve", arguments);
  if (configuration && workers != 0) configuration->workers = workers;
  return configuration;
}

// The address, or the journal with the turns that a crash left behind.
CommandFailure cannot_listen(const Error& error) {
  if (error.code != ErrorCode::wrong_usage) return failure_of(error);
  return {kUnavailable, harmless(error.message), "name another address with --listen ADDRESS:PORT"};
}

std::optional<std::string> configuration_file(const Arguments& arguments) {
  return config::file_of(config::process_sources(configuration_flags(arguments)));
}

// An empty file, or one with comments alone. What cannot be read is reported when it is loaded.
bool has_no_settings(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 20U;
  const auto text = read_file(path, kLargest);
  const auto root = text ? yaml::read(*text) : std::unexpected(text.error());
  return root && root->kind == yaml::Kind::null;
}

// Why a reload would put the built-in agent in place of the configured ones and drop the keys;
// empty when it would not. `file` is what the server was started with.
std::string loss_of_settings(const std::string& file, const Arguments& arguments) {
  if (!configuration_file(arguments)) {
    return fmt::format(
        "{} no longer exists. Next: restore it, or restart the server to run without it",
        harmless(file));
  }
  if (!has_no_settings(file)) return {};
  return fmt::format(
      "{} has no settings. Next: write the settings and send SIGHUP again; to run without any, "
      "restart the server",
      harmless(file));
}

// What is wrong with a file that cannot be read or used is printed by configuration_of().
void reload(Gateway& gateway, Configuration& current, const Arguments& arguments, int workers,
            const std::optional<std::string>& file) {
  const std::string loss = file ? loss_of_settings(*file, arguments) : std::string();
  if (!loss.empty()) {
    print_error("treaty serve: not reloaded; the running configuration stays in effect: {}\n",
                loss);
    return;
  }
  auto fresh = configuration_of(arguments, workers);
  if (!fresh) {
    print_error("treaty serve: not reloaded; the running configuration stays in effect\n");
    return;
  }
  if (const auto done = gateway.reload(*fresh); !done) {
    print_error("treaty serve: not reloaded; the running configuration stays in effect: {}\n",
                harmless(done.error().message));
    return;
  }
  const auto changes = config::changes_between(current, *fresh);
  print_error("treaty serve: the configuration is reloaded: {}\n",
              changes.empty() ? "nothing has changed"
                              : harmless(fmt::format("{}", fmt::join(changes, "; "))));
  // What needs a restart is as it was, and is told again by the next reload.
  fresh->listen = current.listen;
  fresh->store = current.store;
  fresh->workers = current.workers;
  current = *std::move(fresh);
}

// The second signal to leave does not wait for anything: the system itself ends the process then.
void leave(Gateway& gateway, Signals& signals, int number) {
  print_error("treaty serve: {}, leaving; running turns may end (once more: at once)\n",
              number == SIGINT ? "interrupted" : "told to leave");
  signals.let_go();
  gateway.stop();
}

Result<int> run(const Arguments& arguments, const OpenGateway& open) {
  TREATY_TRY(const auto given, read_number_option(arguments, "--workers", 0, 1, kMostWorkers));
  const int workers = static_cast<int>(given);
  // Before the first thread, so that signals come to this one alone.
  Signals signals{SIGINT, SIGTERM, SIGHUP};
  // Whoever read the address may have left since.
  std::signal(SIGPIPE, SIG_IGN);
  const auto file = configuration_file(arguments);
  TREATY_TRY(auto configuration, configuration_of(arguments, workers));
  TREATY_TRY(const auto gateway, open_gateway(open, configuration));
  TREATY_TRY(const auto port, map_error(gateway->listen(), cannot_listen));

  print("{}", wants_json(arguments)
                  ? ready_line(configuration, port, getpid())
                  : welcome(configuration, port, "try-" + new_uuid().substr(0, 8), program_name()));
  std::fflush(stdout);
  for (;;) {
    const int number = signals.wait();
    if (number == SIGHUP) {
      reload(*gateway, configuration, arguments, workers, file);
      continue;
    }
    leave(*gateway, signals, number);
    return kOk;
  }
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "serve",
      .summary = "Run agents behind HTTP: requests in, journalled answers out",
      .description =
          R"(Takes AgentExecuteRequests at POST /v1/agent/execute and answers InvokeResults, plain or
as a stream. What it has told a client is on disk first. Without any configuration it
serves the agent `default` on the first provider whose key is in the environment, else
on a built-in demo. SIGTERM and Ctrl-C: running turns end, then it leaves. SIGHUP: the
configuration is read again.
Exit: 0 told to leave, 2 wrong usage, 69 cannot listen or cannot use its journal, 78 bad
configuration.)",
      .options = joined(
          {{{"--listen", "ADDRESS:PORT", "Where to listen (TREATY_LISTEN, else 127.0.0.1:8088)"}},
           configuration_options(),
           {{"--workers", "N", "Threads that serve (one a core)"},
            format_option("How the address is told")}}),
      .examples = {{"serve", "On 127.0.0.1:8088, with what the environment offers"},
                   {"serve --config treaty.yaml --listen 0.0.0.0:8088", "For others; needs keys"},
                   {"serve --listen 127.0.0.1:0 --format json", "A free port, for programs"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::serve
