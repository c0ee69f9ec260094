// `treaty bridge watch`: answers requests as they appear, in many directories.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "treaty/base/try.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/watcher.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_watch {
namespace {

constexpr const char* kCommand = "bridge watch";
constexpr int kMostParallel = 1'024;
constexpr int kLongestGrace = 86'400;

std::expected<WatchOptions, std::string> read_options(const Arguments& arguments) {
  WatchOptions options{.json = wants_json(arguments)};
  TREATY_TRY(const auto parallel,
             read_number_option(arguments, "--parallel", static_cast<int>(options.parallel), 1,
                                kMostParallel));
  TREATY_TRY(const auto grace,
             read_number_option(arguments, "--grace", options.grace.count(), 0, kLongestGrace));
  options.parallel = static_cast<std::size_t>(parallel);
  options.grace = std::chrono::seconds(grace);
  return options;
}

// Each directory once, however it is named. All that are not there are told.
std::expected<std::set<std::string>, int> resolve(const std::vector<std::string>& names) {
  std::set<std::string> directories;
  bool good = true;
  for (const std::string& name : names) {
    auto directory = bridge::resolve_directory(name);
    if (directory) {
      directories.insert(*std::move(directory));
      continue;
    }
    good = false;
    print_error("treaty {}: {}: {}\n", kCommand, harmless(directory.error().where),
                harmless(directory.error().message));
  }
  if (good) return directories;
  print_error("Next: name directories that are there; nothing was answered\n");
  return std::unexpected(kViolated);
}

std::expected<std::vector<bridge::Driver>, int> take_all(const std::set<std::string>& directories) {
  std::vector<bridge::Driver> drivers;
  drivers.reserve(directories.size());
  for (const std::string& directory : directories) {
    TREATY_TRY(auto driver, open_driver(kCommand, directory, bridge::Reach::inside));
    drivers.push_back(std::move(driver));
  }
  return drivers;
}

std::expected<bridge::DirectoryWatch, Error> watch_all(const std::set<std::string>& directories) {
  auto watch = bridge::DirectoryWatch::open(bridge::Wanted::requests);
  if (!watch) return watch;
  for (const std::string& directory : directories) {
    TREATY_TRY_VOID(watch->add(directory));
  }
  return watch;
}

// Each directory has a lock, and each request that is being answered has files of its own.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Each request has threads of its own for a moment. The C library keeps their stacks for the next
// ones, but no more than 40 MiB of them.
void use_small_stacks() {
  constexpr std::size_t kStack = std::size_t{512} << 10U;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  if (pthread_attr_setstacksize(&attributes, kStack) == 0) pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

int run(const Arguments& arguments, const OpenGateway& open) {
  const auto options = read_options(arguments);
  if (!options) return wrong_usage(kCommand, options.error());
  const auto ask = read_ask_options(kCommand, arguments);
  if (!ask) return wrong_usage(kCommand, ask.error());
  const auto directories = resolve(arguments.positionals.empty() ? std::vector<std::string>{"."}
                                                                 : arguments.positionals);
  if (!directories) return directories.error();
  Signals signals{SIGINT, SIGTERM};
  std::signal(SIGPIPE, SIG_IGN);  // Answers are written whether or not anybody reads of them.
  allow_many_files();
  use_small_stacks();
  auto drivers = take_all(*directories);
  if (!drivers) return drivers.error();
  auto watch = watch_all(*directories);
  if (!watch) {
    print_error("treaty {}: {}: {}\n", kCommand, harmless(watch.error().where),
                harmless(watch.error().message));
    return kUnavailable;
  }
  auto agents =
      open_agent_clients(kCommand, arguments, open,
                         std::vector<std::string>(directories->begin(), directories->end()));
  if (!agents) return agents.error();
  const auto answer = [&](const AnswerJob& job, Signals& cancellation) {
    return answer_request(*job.driver, **agents, cancellation, job.exchange, job.earlier, *ask);
  };
  RequestWatcher watcher(*std::move(drivers), *std::move(watch), answer, signals, *options);
  print_error("treaty {}: watching {} director{}\n", kCommand, directories->size(),
              directories->size() == 1 ? "y" : "ies");
  return watcher.run();
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "watch",
      .positionals = "[DIR...]",
      .summary = "Answer requests as they appear, in many directories",
      .description =
          R"(Waits for requests in the directories (the current one), and runs each as a turn of an
agent; many at once. The answer is written where the program looks for it, and told on
stdout; everything else is told on stderr. What waited already is answered first; what
the journal has as answered is not asked again. A request that is withdrawn or replaced
is given up; when no agent can be reached, it is tried again. No other driver may have
one of the directories. An answer is only written inside of its directory.
SIGTERM and Ctrl-C: takes no more requests, and leaves when those at hand have ended.
Exit: 0 told to leave, 1 a directory is missing, or none is left, 2 wrong usage, 69 a
directory, the journal or the system's watch is not usable, 75 another driver has a
directory, 78 bad configuration.)",
      .options =
          joined({{{"--parallel", "N", "Requests that are answered at once (64)"},
                   {"--grace", "SECONDS", "How long they may go on when it is told to leave (30)"}},
                  asking_options(),
                  {format_option("A line for each answer, or a JSON object")}}),
      .examples = {{"bridge watch work/a work/b", "Two directories"},
                   {"bridge watch --agent reviewer --parallel 4", "This one, with an agent"},
                   {"bridge watch --url http://127.0.0.1:8088 --format json work/*",
                    "On a server, for a host"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::bridge_watch
