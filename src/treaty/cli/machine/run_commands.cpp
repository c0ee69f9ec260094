// `treaty machine run`, `treaty machine resume` and `treaty machine signal`.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "treaty/base/ids.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_drive.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/journal/history.h"

namespace treaty::cli::machine_run {
namespace {

namespace asio = boost::asio;

constexpr const char* kRun = "machine run";
constexpr const char* kResume = "machine resume";

Result<machines::Object> read_input_option(const Arguments& arguments) {
  TREATY_TRY(auto input, read_json_argument("--input", arguments.get("--input", "{}")));
  if (input.is_object()) return std::move(input.get_object());
  return misused("--input must be a JSON object, like '{\"topic\": \"tea\"}', or @FILE");
}

Result<std::optional<std::int64_t>> read_max_steps(const Arguments& arguments) {
  if (!arguments.has("--max-steps")) return std::nullopt;
  return read_count(arguments, "--max-steps", 1, 1);
}

Result<int> run(const OpenMachineAgents& open_agents, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) return misused("name one machine file");
  TREATY_TRY(auto input, read_input_option(arguments));
  TREATY_TRY(const auto max_steps, read_max_steps(arguments));
  TREATY_TRY(auto script, read_script_option(arguments));
  const std::string execution = arguments.get("--id", new_uuid());
  if (!store::is_execution_id(execution)) {
    return misused("--id is up to 200 characters without `/`, not beginning with a dot");
  }
  TREATY_TRY(const auto machine, read_machine_to_run(kRun, arguments, script));

  // A simulation leaves nothing behind, unless it is told where.
  machines::Persistence persistence = machine->persistence;
  const bool is_told_where = arguments.has("--store") || arguments.has("--state-dir");
  if (script && !is_told_where) persistence.kind = machines::PersistenceKind::memory;
  TREATY_TRY(const auto store, open_machines(arguments, store::Purpose::run, &persistence));
  machines::Start start{.execution = execution, .input = std::move(input)};
  start.max_steps = max_steps;
  return drive_machines({.command = kRun,
                         .open_agents = open_agents,
                         .arguments = arguments,
                         .store = store,
                         .script = std::move(script)},
                        [&](const machines::World& world)
                            -> asio::awaitable<std::expected<machines::Outcome, Error>> {
                          co_return co_await machines::run_machine(world, machine, start);
                        });
}

Result<int> resume(const OpenMachineAgents& open_agents, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return misused("name one execution; `treaty machine list` lists them");
  }
  const std::string& execution = arguments.positionals.front();
  TREATY_TRY(const auto max_steps, read_max_steps(arguments));
  TREATY_TRY(auto script, read_script_option(arguments));
  TREATY_TRY(const auto store, open_machines(arguments, store::Purpose::run, nullptr));
  const MachineDrive how{.command = kResume,
                         .open_agents = open_agents,
                         .arguments = arguments,
                         .store = store,
                         .script = std::move(script),
                         .resumes = execution};
  return drive_machines(how, [&](const machines::World& world) {
    return machines::resume_execution(world, execution, machine_reader(names_of(world.hooks)),
                                      max_steps);
  });
}

constexpr const char* kSignal = "machine signal";
constexpr std::size_t kLongestChannel = 1'024;

struct Signal {
  std::string channel{};
  std::string data{};
};

void tell_sent(const Arguments& arguments, const Signal& signal,
               const std::vector<std::string>& waiters) {
  if (wants_json(arguments)) {
    print_json({{"channel", signal.channel}, {"waiting", waiters}});
    return;
  }
  if (waiters.empty()) {
    print("nobody waits on {}; the signal is kept for the next one that does\n",
          harmless(signal.channel));
    return;
  }
  print("sent to {} on {}\n",
        waiters.size() == 1 ? "1 execution that waits"
                            : fmt::format("{} executions that wait", waiters.size()),
        harmless(signal.channel));
  if (arguments.has("--resume")) return;
  for (const std::string& execution : waiters) {
    print("  Go on with: treaty machine resume {}{}\n", shell_word(harmless(execution)),
          options_to_find(arguments));
  }
}

// Goes on with those that waited, then with the machines that waited for them.
class Resuming {
 public:
  Resuming(MachineHost& host, store::MachineStore& store, const Arguments& arguments)
      : host_(host), store_(store), arguments_(arguments) {}

  asio::awaitable<int> run(std::vector<std::string> executions) {
    while (!executions.empty() && !host_.is_stopping()) {
      std::vector<std::string> parents;
      for (const std::string& execution : executions) {
        const auto parent = co_await go_on_with(execution);
        if (parent && std::ranges::find(parents, *parent) == parents.end()) {
          parents.push_back(*parent);
        }
      }
      executions = std::move(parents);
    }
    co_return host_.is_stopping() ? kTryLater : code_;
  }

 private:
  // Answers who waits for its end.
  asio::awaitable<std::optional<std::string>> go_on_with(std::string execution) {
    co_await host_.go_on_with(execution);
    const machines::World world = host_.world();
    const auto outcome = co_await machines::resume_execution(world, execution,
                                                             machine_reader(names_of(world.hooks)));
    if (!outcome) {
      worsen(tell_failure(kSignal, machine_failure(outcome.error())));
      co_return std::nullopt;
    }
    tell(*outcome);
    const bool has_ended = outcome->status == machines::Status::completed ||
                           outcome->status == machines::Status::failed;
    auto parent =
        has_ended ? co_await waiting_parent(std::move(execution)) : std::optional<std::string>();
    if (!parent) worsen(exit_code_of(*outcome));  // Else its end is the parent's to judge.
    co_return parent;
  }

  asio::awaitable<std::optional<std::string>> waiting_parent(std::string execution) {
    const auto record = co_await store_.find_execution(std::move(execution));
    if (!record || !*record) co_return std::nullopt;
    const auto beginning = machines::read_beginning((*record)->journal);
    if (!beginning || beginning->parent.empty()) co_return std::nullopt;
    const auto parent = co_await store_.find_execution(beginning->parent);
    if (!parent || !*parent || (*parent)->latest_event != "waiting") co_return std::nullopt;
    co_return beginning->parent;
  }

  void tell(const machines::Outcome& outcome) const {
    if (wants_json(arguments_)) {
      print_document(outcome_json(outcome, nullptr) + "\n");
      return;
    }
    print("{}: {}", harmless(outcome.execution),
          outcome.status == machines::Status::completed ? "completed\n" : "");
    print_document(outcome_text(outcome, options_to_find(arguments_)));
  }

  void worsen(int code) {
    if (code_ == kOk || code_ == kMachineWaits) code_ = code == kOk ? code_ : code;
  }

  MachineHost& host_;
  store::MachineStore& store_;
  const Arguments& arguments_;
  int code_ = kOk;
};

Result<int> send_and_resume(const OpenMachineAgents& open_agents, const OpenedMachines& store,
                            const Arguments& arguments, const Signal& signal) {
  TREATY_TRY(auto script, read_script_option(arguments));
  const MachineDrive how{.command = kSignal,
                         .open_agents = open_agents,
                         .arguments = arguments,
                         .store = store,
                         .script = std::move(script)};
  return run_on_host(how, [&](MachineHost& host) -> asio::awaitable<int> {
    auto waiters = co_await store.machines().send_signal(signal.channel, signal.data);
    if (!waiters) co_return tell_failure(kSignal, machine_failure(waiters.error()));
    tell_sent(arguments, signal, *waiters);
    co_return co_await Resuming(host, store.machines(), arguments).run(std::move(*waiters));
  });
}

Result<int> signal(const OpenMachineAgents& open_agents, const Arguments& arguments) {
  const auto& words = arguments.positionals;
  if (words.empty() || words.size() > 2) {
    return misused("name one channel, and what is to be sent as JSON");
  }
  if (words[0].empty() || words[0].size() > kLongestChannel) {
    return misused("a channel is a name of up to 1024 bytes");
  }
  TREATY_TRY(const auto data, read_json_argument("DATA", words.size() == 2 ? words[1] : "{}"));
  const Signal sent{.channel = words[0], .data = json::to_json(data)};
  TREATY_TRY(const auto store, open_to_look(arguments, store::Purpose::run));
  if (arguments.has("--resume")) return send_and_resume(open_agents, store, arguments, sent);
  TREATY_TRY(const auto waiters,
             await_store(store.machines().send_signal(sent.channel, sent.data)));
  tell_sent(arguments, sent, waiters);
  return kOk;
}

}  // namespace

Command command(OpenMachineAgents open) {
  return {
      .name = "run",
      .positionals = "FILE",
      .summary = "Run a machine to its end, or until it waits",
      .description =
          R"(Every step is on the disk before the next one: what is interrupted goes on with
`treaty machine resume`. On a terminal the states are shown as they happen.
Exit: 0 completed, 1 failed, 2 refused, 3 waiting for a signal, 75 interrupted.)",
      .options = joined({{
                             {"--input", "JSON",
                              "The machine's input, a JSON object; @FILE reads it from a file"},
                             {"--id", "ID", "The name of the execution; without it, a new one"},
                         },
                         driving_options()}),
      .examples = {{"machine run examples/machines/writer.yml --input '{\"topic\": \"tea\"}'",
                    "Run it with the configured agents"},
                   {"machine run machine.yml --script answers.yml --format json",
                    "Simulate it: no agent is asked, no time passes"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(open, arguments); },
  };
}

Command resume_command(OpenMachineAgents open) {
  return {
      .name = "resume",
      .positionals = "ID",
      .summary = "Go on with an execution where it stopped",
      .description =
          R"(After a crash, an interrupt, a failure or a wait. What was answered before is not asked
for again.)",
      .options = driving_options(),
      .examples = {{"machine resume 4f6c1c0a-6c5e-4c5b-9a55-0d5f6f1f9b7e", "Go on with it"}},
      .run = [open =
                  std::move(open)](const Arguments& arguments) { return resume(open, arguments); },
  };
}

Command signal_command(OpenMachineAgents open) {
  return {
      .name = "signal",
      .positionals = "CHANNEL [DATA]",
      .summary = "Send a signal to the machines that wait on a channel",
      .description =
          R"(Each machine that waits gets a copy; when none does, the signal is kept for the next.
DATA is JSON ({} without it), @FILE or -. With --resume the machines go on here, those
that wait for them as well; the options of `machine resume` are for that. Exit: 0 sent
(and completed), 1 a machine failed, 2 wrong usage, 3 a machine waits again, 75 another
process has it, 69 no store or none that can be used, 78 a configuration that is not
in order.)",
      .options =
          joined({{{"--resume", "", "Go on with the executions that waited for it, here and now"}},
                  driving_options(Steps::unlimited)}),
      .examples = {{"machine signal approvals/42 '{\"approved\": true}'", "Send it"},
                   {"machine signal approvals/42 '{\"approved\": true}' --resume",
                    "Send it, and go on with who waited"}},
      .run = [open =
                  std::move(open)](const Arguments& arguments) { return signal(open, arguments); },
  };
}

}  // namespace treaty::cli::machine_run
