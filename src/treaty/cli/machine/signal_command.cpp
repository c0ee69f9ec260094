// `treaty machine signal`.
#include <algorithm>
#include <optional>

#include "treaty/base/json_dynamic.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_drive.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/journal/account.h"

namespace treaty::cli::machine_signal {
namespace {

namespace asio = boost::asio;

constexpr const char* kSignal = "machine signal";
constexpr std::size_t kLongestChannel = 1'024;

struct Signal {
  std::string channel{};
  std::string data{};
};

void tell_sent(const Arguments& arguments, const Signal& signal,
               const std::vector<std::string>& waiters) {
  if (wants_json(arguments)) {
    json::Writer writer;
    writer.begin_object().member("channel", signal.channel).name("waiting").begin_array();
    for (const std::string& execution : waiters) writer.value(execution);
    writer.end_array().end_object();
    print_document(writer.take() + "\n");
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
    print("  Go on with: treaty machine resume {}\n", shell_word(harmless(execution)));
  }
}

// Goes on with those that waited, then with the machines that waited for them.
class Resuming {
 public:
  Resuming(MachineStage& stage, store::MachineStore& store, const Arguments& arguments)
      : stage_(stage), store_(store), arguments_(arguments) {}

  asio::awaitable<int> run(std::vector<std::string> executions) {
    while (!executions.empty() && !stage_.is_stopping()) {
      std::vector<std::string> parents;
      for (const std::string& execution : executions) {
        const auto parent = co_await go_on_with(execution);
        if (parent && std::ranges::find(parents, *parent) == parents.end()) {
          parents.push_back(*parent);
        }
      }
      executions = std::move(parents);
    }
    co_return stage_.is_stopping() ? kTryLater : code_;
  }

 private:
  // Answers who waits for its end.
  asio::awaitable<std::optional<std::string>> go_on_with(std::string execution) {
    co_await stage_.go_on_with(execution);
    const machines::World world = stage_.world();
    const auto outcome = co_await machines::resume_execution(world, execution,
                                                             machine_reader(names_of(world.hooks)));
    if (!outcome) {
      worsen(tell_trouble(kSignal, outcome.error()));
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

  MachineStage& stage_;
  store::MachineStore& store_;
  const Arguments& arguments_;
  int code_ = kOk;
};

int send(const OpenedMachines& store, const Arguments& arguments, const Signal& signal) {
  const auto waiters = wait_for(store.machines().send_signal(signal.channel, signal.data));
  if (!waiters) return tell_trouble(kSignal, waiters.error());
  tell_sent(arguments, signal, *waiters);
  return kOk;
}

int send_and_resume(const MachineServices& services, const OpenedMachines& store,
                    const Arguments& arguments, const Signal& signal) {
  auto script = read_script_option(kSignal, arguments);
  if (!script) return script.error();
  const MachineDrive how{.command = kSignal,
                         .services = services,
                         .arguments = arguments,
                         .store = store,
                         .script = std::move(*script)};
  return drive_on_stage(how, [&](MachineStage& stage) -> asio::awaitable<int> {
    auto waiters = co_await store.machines().send_signal(signal.channel, signal.data);
    if (!waiters) co_return tell_trouble(kSignal, waiters.error());
    tell_sent(arguments, signal, *waiters);
    co_return co_await Resuming(stage, store.machines(), arguments).run(std::move(*waiters));
  });
}

int signal(const MachineServices& services, const Arguments& arguments) {
  const auto& words = arguments.positionals;
  if (words.empty() || words.size() > 2) {
    return wrong_usage(kSignal, "name one channel, and what is to be sent as JSON");
  }
  if (words[0].empty() || words[0].size() > kLongestChannel) {
    return wrong_usage(kSignal, "a channel is a name of up to 1024 bytes");
  }
  const auto data = read_json_argument("DATA", words.size() == 2 ? words[1] : "{}");
  if (!data) return wrong_usage(kSignal, data.error());
  const Signal sent{.channel = words[0], .data = json_text_of(*data)};
  const auto store = open_to_look(kSignal, services, arguments, store::Purpose::run);
  if (!store) return store.error();
  if (!arguments.has("--resume")) return send(*store, arguments, sent);
  return send_and_resume(services, *store, arguments, sent);
}

}  // namespace

Command command(const MachineServices& services) {
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
      .run = [services](const Arguments& arguments) { return signal(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_signal
