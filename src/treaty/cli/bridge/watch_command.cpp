// `treaty bridge watch`: answers requests as they appear, in many directories.
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <map>
#include <set>

#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/bridge/directory_watch.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/watching.h"
#include "treaty/cli/bridge/answer_pool.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_watch {
namespace {

constexpr const char* kCommand = "bridge watch";
constexpr int kMostParallel = 1'024;
constexpr int kLongestGrace = 86'400;

void write_outcome(json::Writer& writer, const contracts::BridgeResponse& response) {
  if (const auto* error = std::get_if<contracts::BridgeError>(&response.outcome)) {
    writer.member("status", "error");
    if (error->error_type) writer.member("error_type", *error->error_type);
    writer.member("error_message", error->error_message);
  } else if (const auto* timeout = std::get_if<contracts::BridgeTimeout>(&response.outcome)) {
    writer.member("status", "timeout").member("error_message", timeout->error_message);
  } else {
    writer.member("status", "success");
  }
}

// "/work/a: phase 2 (review) · agent default · 1.2 s · 12 tokens in, 3 out · success".
std::string answer_line_of(const std::string& directory, const bridge::Exchange& exchange,
                           const contracts::BridgeResponse& response) {
  return fmt::format("{}: {}", harmless(directory), answer_line(exchange, response));
}

// The same as a JSON object.
std::string answer_object_of(const std::string& directory, const bridge::Exchange& exchange,
                             const contracts::BridgeResponse& response) {
  json::Writer writer;
  writer.begin_object().member("directory", directory).member("request_id", response.request_id);
  const auto& request = exchange.request.document;
  auto phase = request ? request->phase : std::nullopt;
  if (!phase) phase = bridge::phase_of_suffix(exchange.suffix);
  if (phase) writer.member("phase", *phase);
  if (request && request->phase_name) writer.member("phase_name", *request->phase_name);
  write_outcome(writer, response);
  writer.member("seconds", response.duration_seconds).member("file", exchange.response.path);
  for (const std::string_view name :
       {"agent", "backend", "model", "requested_model", "input_tokens", "output_tokens"}) {
    if (const auto value = response.metadata.find(name)) writer.name(name).raw(value->text());
  }
  return writer.end_object().take();
}

using bridge::Exchange;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{1'000};  // Before another try; doubled for each.
constexpr milliseconds kLongestPause{60'000};
constexpr std::chrono::hours kTidyPeriod{1};  // Of journals and quarantines.

template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_error("treaty {}: {}\n", kCommand,
              fmt::format(format, std::forward<Arguments>(arguments)...));
}

// What failed by itself may go well another time.
bool may_pass(const AnswerOutcome& reply) {
  return reply.exit_code == kUnavailable || reply.exit_code == kTryLater;
}

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

struct WatchOptions {
  std::size_t parallel = 64;              // Requests at once,
  std::chrono::seconds grace{30};         // and how long they may go on when it is told to leave.
  bool json = false;                      // How answers are told on stdout.
  std::chrono::milliseconds rest{2'000};  // How long the rest of half a file is waited for.
};

// Watches directories and has the requests that appear there answered, until it is told to leave.
class RequestWatcher {
 public:
  // The drivers' directories are in the watch.
  RequestWatcher(std::vector<bridge::Driver> drivers, bridge::DirectoryWatch watch,
                 AnswerPool::Work answer, Signals& signals, WatchOptions options)
      : signals_(signals),
        options_(options),
        watch_(std::move(watch)),
        pool_(options.parallel, std::move(answer)) {
    for (bridge::Driver& driver : drivers) {
      const std::string directory = driver.directory();
      bridge::RequestTracker seen(driver.history());
      directories_.emplace(
          directory, Watched{std::make_shared<bridge::Driver>(std::move(driver)), std::move(seen)});
    }
  }

  // Answers the exit code.
  int run() {
    look_everywhere();
    std::array<pollfd, 3> waiting = {pollfd{signals_.descriptor(), POLLIN, 0},
                                     pollfd{pool_.descriptor(), POLLIN, 0},
                                     pollfd{watch_.descriptor(), POLLIN, 0}};
    while (!is_over()) {
      if (poll(waiting.data(), waiting.size(), milliseconds_to_wait()) < 0) continue;
      if (waiting[0].revents != 0 && !is_leaving_) {
        if (const auto signal = signals_.take()) begin_to_leave(*signal);
        waiting[0].fd = waiting[2].fd = -1;
      }
      if (waiting[1].revents != 0) take_finished();
      if (waiting[2].revents != 0 && !is_leaving_) take_news();
      look_at_due();
    }
    return is_leaving_ ? kOk : kViolated;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Place = std::pair<std::string, std::string>;  // A directory and a suffix.

  struct Watched {
    std::shared_ptr<bridge::Driver> driver;
    bridge::RequestTracker seen;
  };
  struct Retry {
    int attempts = 0;
    std::string told{};
  };

  bool is_over() const { return (is_leaving_ || directories_.empty()) && pool_.unfinished() == 0; }

  void look_everywhere() {
    std::vector<std::string> names;
    names.reserve(directories_.size());
    for (const auto& [directory, watched] : directories_) names.push_back(directory);
    for (const std::string& directory : names) look_into(directory);
  }

  void look_into(const std::string& directory) {
    auto exchanges = bridge::read_exchanges(directory);
    if (!exchanges) {
      tell("{}: {}", harmless(directory), harmless(exchanges.error().message));
      return;
    }
    Watched& watched = directories_.at(directory);
    for (Exchange& exchange : *exchanges) act(watched, std::move(exchange), false);
  }

  void look(const Place& place, bool again = false) {
    const auto found = directories_.find(place.first);
    if (found == directories_.end()) return;
    act(found->second, bridge::read_exchange(place.first, place.second), again);
  }

  void act(Watched& watched, Exchange exchange, bool again) {
    const Place place{watched.driver->directory(), exchange.suffix};
    if (exchange.request.state == bridge::FileState::absent) retries_.erase(place);
    auto step = again ? watched.seen.look_again(exchange) : watched.seen.look(exchange);
    const auto cases = Overloaded{
        [](const bridge::Leave&) {},
        [&](bridge::Ask& asks) { ask(watched, std::move(exchange), std::move(asks.earlier)); },
        [&](const bridge::NoteAnswer&) {
          json::ObjectText details = {{"request_id", exchange.request.document->request_id},
                                      {"phase_key", bridge::phase_key(exchange)}};
          bridge::add_question(details, exchange, *exchange.response.document);
          note(watched, "answer.found", std::move(details));
        },
        [&](const bridge::AwaitRest&) { due_[place] = Clock::now() + options_.rest; },
        [&](const bridge::TellTorn&) {
          tell("{}: {}; its rest is waited for", harmless(exchange.request.path),
               harmless(exchange.request.problem));
        },
        [&](const bridge::Refuse& refusal) { refuse(watched, exchange, refusal); },
        [&](const bridge::Cancel&) {
          pool_.cancel([&](const AnswerJob& job) {
            return job.exchange.request.path == exchange.request.path;
          });
        },
    };
    std::visit(cases, step);
  }

  void ask(Watched& watched, Exchange exchange, std::optional<bridge::AskedRequest> earlier) {
    due_.erase({watched.driver->directory(), exchange.suffix});
    // Better known before it is paid for.
    if (const auto may = watched.driver->may_answer(exchange); !may) {
      watched.seen.refused(exchange.suffix);
      refuse(watched, exchange, {fmt::format("{}: {}", may.error().where, may.error().message)});
      return;
    }
    pool_.add({watched.driver, std::move(exchange), std::move(earlier)});
  }

  void refuse(Watched& watched, const Exchange& exchange, const bridge::Refuse& refusal) {
    tell("{}: not answered: {}", harmless(exchange.request.path), harmless(refusal.problem));
    if (refusal.is_journalled) return;
    note(watched, "request.refused",
         {{"file", exchange.request.path}, {"problem", refusal.problem}});
  }

  void note(Watched& watched, std::string event, json::ObjectText details) {
    const auto noted = watched.driver->note(std::move(event), std::move(details));
    if (!noted) tell("{}", text_of(noted.error()));
  }

  void take_news() {
    const bridge::DirectoryNews news = watch_.read();
    for (const bridge::FileNews& file : news.files) {
      const auto found = directories_.find(file.directory);
      const auto suffix = bridge::suffix_of_request(file.name);
      if (found == directories_.end() || !suffix) continue;
      // Programs take their requests away when they are done with them.
      if (!file.is_there && !found->second.seen.is_asking(*suffix)) continue;
      look({file.directory, *suffix});
    }
    for (const std::string& directory : news.gone) forget(directory);
    if (news.is_incomplete) look_everywhere();
  }

  void forget(const std::string& directory) {
    const auto found = directories_.find(directory);
    if (found == directories_.end()) return;
    tell("{}: the directory is gone, and is watched no more", harmless(directory));
    const auto* driver = found->second.driver.get();
    pool_.cancel([&](const AnswerJob& job) { return job.driver.get() == driver; });
    const auto is_there = [&](const auto& entry) { return entry.first.first == directory; };
    std::erase_if(due_, is_there);
    std::erase_if(retries_, is_there);
    directories_.erase(found);
    if (directories_.empty()) tell("no directory is left");
  }

  void take_finished() {
    for (const FinishedJob& finished : pool_.take_finished()) {
      const std::string& directory = finished.job.driver->directory();
      const Exchange& exchange = finished.job.exchange;
      if (const auto& response = finished.reply.response) {
        print("{}\n", options_.json ? answer_object_of(directory, exchange, *response)
                                    : answer_line_of(directory, exchange, *response));
      }
      const auto found = directories_.find(directory);
      if (found == directories_.end()) continue;
      const bool is_outdated = settle(found->second, finished.job, finished.reply);
      if (is_outdated && !is_leaving_) look({directory, exchange.suffix});
    }
    std::fflush(stdout);
  }

  // True when its request is to be looked at again.
  bool settle(Watched& watched, const AnswerJob& job, const AnswerOutcome& reply) {
    const std::string& suffix = job.exchange.suffix;
    const Place place{job.driver->directory(), suffix};
    if (reply.response || reply.signal != 0) {
      retries_.erase(place);
      if (reply.response) return watched.seen.answered(suffix, reply.response->created_at);
      if (!is_leaving_)
        tell("{}: withdrawn or replaced, and given up", harmless(job.exchange.request.path));
      return watched.seen.cancelled(suffix);
    }
    const std::string failure = parts_of(reply.failure).message;
    if (!may_pass(reply)) {
      retries_.erase(place);
      refuse(watched, job.exchange, {failure});
      return watched.seen.refused(suffix);
    }
    postpone(place, failure);
    const auto journal = bridge::read_journal(bridge::journal_path(place.first));
    return watched.seen.failed(suffix, journal ? journal->entries : std::vector<bridge::Entry>());
  }

  void postpone(const Place& place, std::string_view failure) {
    Retry& retry = retries_[place];
    const milliseconds pause =
        std::min(kFirstPause * (1 << std::min(retry.attempts, 6)), kLongestPause);
    ++retry.attempts;
    due_[place] = Clock::now() + pause;
    if (std::exchange(retry.told, failure) == failure) return;
    tell("{}: {}; tried again until it goes well",
         harmless(bridge::path_in(place.first, bridge::request_name(place.second))),
         harmless(failure));
  }

  void tidy() {
    next_tidy_ = Clock::now() + kTidyPeriod;
    for (const auto& [directory, watched] : directories_) watched.driver->tidy();
  }

  void look_at_due() {
    const auto now = Clock::now();
    if (now >= next_tidy_) tidy();
    if (is_leaving_ && now >= grace_end_) {
      grace_end_ = Clock::time_point::max();
      pool_.cancel_all();
    }
    std::vector<Place> places;
    for (const auto& [place, when] : due_) {
      if (when <= now) places.push_back(place);
    }
    for (const Place& place : places) {
      due_.erase(place);
      look(place, true);
    }
  }

  int milliseconds_to_wait() const {
    auto next = is_leaving_ ? grace_end_ : next_tidy_;
    for (const auto& [place, when] : due_) next = std::min(next, when);
    if (next == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }

  // The second signal does not wait for anything: the system itself ends the process then.
  void begin_to_leave(int signal) {
    is_leaving_ = true;
    grace_end_ = Clock::now() + options_.grace;
    due_.clear();
    signals_.let_go();
    pool_.cancel_waiting();
    if (pool_.unfinished() == 0) return;
    tell("{}, leaving; what is being answered may end within {} s (once more: at once)",
         signal == SIGINT ? "interrupted" : "told to leave", options_.grace.count());
  }

  Signals& signals_;
  WatchOptions options_;
  bridge::DirectoryWatch watch_;
  std::map<std::string, Watched> directories_{};
  std::map<Place, Clock::time_point> due_{};  // What is to be looked at again, and when.
  std::map<Place, Retry> retries_{};
  bool is_leaving_ = false;
  Clock::time_point grace_end_{};
  Clock::time_point next_tidy_ = Clock::now() + kTidyPeriod;
  AnswerPool pool_;  // The last, so that it ends before what it uses.
};

Result<WatchOptions> read_options(const Arguments& arguments) {
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
Result<std::set<std::string>> resolve(const std::vector<std::string>& names) {
  std::set<std::string> directories;
  bool good = true;
  for (const std::string& name : names) {
    auto directory = bridge::resolve_directory(name);
    if (directory) {
      directories.insert(*std::move(directory));
      continue;
    }
    good = false;
    tell("{}", text_of(directory.error()));
  }
  if (good) return directories;
  return failed_with(kViolated, "", "name directories that are there; nothing was answered");
}

Result<std::vector<bridge::Driver>> take_all(const std::set<std::string>& directories) {
  std::vector<bridge::Driver> drivers;
  drivers.reserve(directories.size());
  for (const std::string& directory : directories) {
    TREATY_TRY(auto driver, open_driver("watch", directory, bridge::Reach::inside));
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

Result<int> run(const Arguments& arguments, const OpenGateway& open) {
  TREATY_TRY(const auto options, read_options(arguments));
  TREATY_TRY(auto ask, read_ask_options(kCommand, arguments));
  ask.tell = [](const Exchange& exchange, const std::string& text) {
    tell("{}: {}", harmless(exchange.request.path), text);
  };
  TREATY_TRY(const auto directories,
             resolve(arguments.positionals.empty() ? std::vector<std::string>{"."}
                                                   : arguments.positionals));
  Signals signals{SIGINT, SIGTERM};
  std::signal(SIGPIPE, SIG_IGN);  // Answers are written whether or not anybody reads of them.
  allow_many_files();
  use_small_stacks();
  TREATY_TRY(auto drivers, take_all(directories));
  auto watch = watch_all(directories);
  if (!watch) return failed_with(kUnavailable, text_of(watch.error()));
  TREATY_TRY(const auto agents,
             open_agent_clients(kCommand, arguments, open,
                                std::vector<std::string>(directories.begin(), directories.end())));
  const auto answer = [&](const AnswerJob& job, Signals& cancellation) {
    return answer_request(*job.driver, *agents, cancellation, job.exchange, job.earlier, ask);
  };
  RequestWatcher watcher(std::move(drivers), *std::move(watch), answer, signals, options);
  tell("watching {} director{}", directories.size(), directories.size() == 1 ? "y" : "ies");
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
