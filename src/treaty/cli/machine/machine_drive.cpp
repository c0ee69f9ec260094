#include "treaty/cli/machine/machine_drive.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <csignal>
#include <cstdlib>

#include "treaty/base/try.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/machine/tool_commands.h"
#include "treaty/cli/shared/client_tools.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/machines/journal/account.h"
#include "treaty/machines/run/world.h"
#include "treaty/machines/script/simulation.h"

namespace treaty::cli {
namespace {

class MachineProgress final : public machines::RunObserver {
 public:
  void on_event(const machines::RunEvent& event) override;
};

// A line for it, without its end; empty when there is nothing to say.
std::string progress_line(const machines::RunEvent& event, bool colors) {
  const std::string indent(static_cast<std::size_t>(event.depth) * 2 + 2, ' ');
  const std::string state = harmless(event.state);
  const std::string detail = harmless(event.detail);
  const auto& kind = event.kind;
  if (kind == "state") {
    return fmt::format("{}{:>3} {}", indent, event.step, painted(state, Color::bold, colors));
  }
  if (kind == "call") return fmt::format("{}    asks {}", indent, detail);
  if (kind == "answer" && detail != "ok") {
    return fmt::format("{}    {}", indent, painted(detail, Color::yellow, colors));
  }
  if (kind == "wait") return fmt::format("{}    waits {:.0f} s", indent, event.seconds);
  if (kind == "tool") return fmt::format("{}    uses {}", indent, detail);
  if (kind == "child") return fmt::format("{}    runs {}", indent, detail);
  if (kind == "launch") return fmt::format("{}    launches {}", indent, detail);
  if (kind == "error") {
    return fmt::format("{}    {}", indent, painted(detail, Color::red, colors));
  }
  return "";
}

void MachineProgress::on_event(const machines::RunEvent& event) {
  const std::string line = progress_line(event, std::getenv("NO_COLOR") == nullptr);
  if (!line.empty()) print_error("{}\n", line);
}

namespace asio = boost::asio;

constexpr std::size_t kLargestScript = std::size_t{16} << 20U;

// The machine that nobody else has started.
asio::awaitable<std::string> root_of(store::MachineStore& store, std::string execution) {
  for (;;) {
    const auto record = co_await store.find_execution(execution);
    if (!record || !*record) co_return execution;
    const auto beginning = machines::read_beginning((*record)->journal);
    if (!beginning || beginning->parent.empty()) co_return execution;
    execution = beginning->parent;
  }
}

// What a simulation must skip: the answers that an earlier process has had.
asio::awaitable<std::map<std::string, std::int64_t>> asked_before(store::MachineStore& store,
                                                                  std::string execution) {
  std::map<std::string, std::int64_t> asked;
  execution = co_await root_of(store, std::move(execution));
  const auto rows = co_await store.list_executions();
  if (!rows) co_return asked;
  for (const auto& row : *rows) {
    if (row.execution != execution && !row.execution.starts_with(execution + ".")) continue;
    const auto record = co_await store.find_execution(row.execution);
    if (record && *record) machines::count_asked((*record)->journal, asked);
  }
  co_return asked;
}

// Everything that is around a machine, for as long as the loop runs.
class Surroundings final : public MachineStage {
 public:
  Surroundings(asio::io_context& loop, const MachineDrive& drive)
      : loop_(loop),
        drive_(drive),
        shows_progress_(!wants_json(drive.arguments) && isatty(2) != 0) {}

  // The error is told already: it is the exit code.
  std::expected<void, int> open() {
    built_in_ = machines::built_in_hooks(
        {.client = std::make_shared<http::Client>(loop_),
         .log = [](std::string_view line) { print_error("{}\n", harmless(line)); }});
    if (drive_.script) {
      const double now = static_cast<double>(::time(nullptr));
      simulation_ = std::make_unique<machines::Simulation>(*drive_.script, now);
      hooks_ = simulation_->hooks(built_in_);
      return {};
    }
    hooks_ = built_in_;
    timeline_ = machines::real_timeline();
    auto tools = read_client_tools(drive_.arguments);
    if (!tools) return std::unexpected(wrong_usage(drive_.command, tools.error()));
    tools_ = std::make_unique<ToolCommands>(std::move(*tools));
    auto configuration = load_private_configuration(drive_.command, drive_.arguments);
    if (!configuration) return std::unexpected(kBadConfiguration);
    auto agents = drive_.services.open_agents(loop_, *configuration, drive_.store.whole());
    if (!agents) return std::unexpected(tell_error(drive_.command, agents.error()));
    agents_ = std::move(*agents);
    return {};
  }

  machines::World world() override {
    const auto opener = machine_opener(names_of(hooks_));
    if (simulation_) {
      return {.agents = *simulation_,
              .tools = *simulation_,
              .timeline = simulation_->timeline(),
              .store = drive_.store.machines(),
              .hooks = hooks_,
              .open_machine = opener,
              .observer = observer(),
              .after_write = simulation_->after_write(),
              .notes_hooks = true,
              .is_stopping = [this] { return is_stopped_; }};
    }
    return {.agents = *agents_,
            .tools = *tools_,
            .timeline = *timeline_,
            .store = drive_.store.machines(),
            .hooks = hooks_,
            .open_machine = opener,
            .observer = observer(),
            .after_write = {},
            .notes_hooks = false,
            .is_stopping = [this] { return is_stopped_; }};
  }

  bool is_stopping() const override { return is_stopped_; }
  void stop() { is_stopped_ = true; }

  asio::awaitable<std::expected<void, Error>> begin() override {
    if (!simulation_) co_return std::expected<void, Error>();
    simulation_->go_on_after({});
    for (const auto& [channel, signals] : simulation_->script().signals) {
      for (const machines::Dynamic& data : signals) {
        TREATY_CO_TRY_VOID(
            co_await drive_.store.machines().send_signal(channel, json_text_of(data)));
      }
    }
    co_return std::expected<void, Error>();
  }

  asio::awaitable<void> go_on_with(std::string execution) override {
    if (!simulation_) co_return;
    simulation_->go_on_after(co_await asked_before(drive_.store.machines(), std::move(execution)));
  }

  const machines::List* recorded() const {
    return simulation_ ? &simulation_->recorded() : nullptr;
  }

 private:
  machines::RunObserver* observer() { return shows_progress_ ? &progress_ : nullptr; }

  asio::io_context& loop_;
  const MachineDrive& drive_;
  bool shows_progress_;
  bool is_stopped_ = false;
  MachineProgress progress_{};
  machines::HookRegistry built_in_{};
  machines::HookRegistry hooks_{};
  std::unique_ptr<machines::Simulation> simulation_{};
  std::unique_ptr<machines::Timeline> timeline_{};
  std::unique_ptr<machines::Agents> agents_{};
  std::unique_ptr<tools::ToolRunner> tools_{};
};

int report(const MachineDrive& drive, const std::expected<machines::Outcome, Error>& outcome,
           const machines::List* hooks) {
  if (!outcome) return tell_trouble(drive.command, outcome.error());
  // A simulation leaves nothing behind, unless it is told where.
  const bool is_kept = !drive.script || drive.arguments.has("--store");
  const auto options = is_kept ? std::optional(options_to_find(drive.arguments)) : std::nullopt;
  if (wants_json(drive.arguments)) {
    print_document(outcome_json(*outcome, hooks) + "\n");
  } else if (outcome->status == machines::Status::completed) {
    print_document(outcome_text(*outcome, options));
  } else {
    print_error("treaty {}: {}", drive.command, outcome_text(*outcome, options));
  }
  return exit_code_of(*outcome);
}

}  // namespace

std::vector<Option> driving_options(Steps steps) {
  std::vector<Option> options = {
      {"--script", "FILE", "Simulate: agents, tools and hooks answer what this file says"}};
  if (steps == Steps::limited) {
    options.push_back({"--max-steps", "N",
                       "Stop with an error after so many steps, instead of the machine's limit"});
  }
  options.push_back(format_option("How the end is told"));
  return joined({options, client_tool_options(), machine_store_options()});
}

std::expected<std::optional<machines::Script>, int> read_script_option(std::string_view command,
                                                                       const Arguments& arguments) {
  if (!arguments.has("--script")) return std::nullopt;
  const std::string path = arguments.get("--script");
  const auto text = read_input(path, kLargestScript);
  if (!text) {
    print_error("treaty {}: {}: {}\n", command, harmless(path), harmless(text.error().message));
    return std::unexpected(kUnavailable);
  }
  auto script = machines::read_script(*text);
  if (!script) {
    print_error("treaty {}: {}: {}\n", command, harmless(path), harmless(script.error()));
    return std::unexpected(kWrongUsage);
  }
  return std::optional(std::move(*script));
}

HookNames known_hooks(const std::optional<machines::Script>& script) {
  HookNames names;
  if (!script) return names;
  for (const auto& [name, _] : script->hooks) names.insert(name);
  return names;
}

namespace {

asio::awaitable<int> on_stage(Surroundings& stage, const OnStage& run) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return co_await run(stage);
}

int run_loop(asio::io_context& loop, Surroundings& surroundings, const OnStage& run) {
  asio::cancellation_signal stop;
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    surroundings.stop();
    stop.emit(asio::cancellation_type::terminal);
    signals.clear();  // Another one ends the process at once.
  });
  int code = kUnavailable;
  asio::co_spawn(
      loop, on_stage(surroundings, run),
      asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr&, int ended) {
        code = ended;
        signals.cancel();
      }));
  loop.run();  // Machines that were launched are waited for, too.
  return code;
}

}  // namespace

int drive_on_stage(const MachineDrive& drive, const OnStage& run) {
  asio::io_context loop(1);
  Surroundings surroundings(loop, drive);
  if (auto opened = surroundings.open(); !opened) return opened.error();
  return run_loop(loop, surroundings, run);
}

int drive_machines(const MachineDrive& drive, const InWorld& run) {
  asio::io_context loop(1);
  Surroundings surroundings(loop, drive);
  if (auto opened = surroundings.open(); !opened) return opened.error();
  std::expected<machines::Outcome, Error> outcome;
  run_loop(loop, surroundings, [&](MachineStage& stage) -> asio::awaitable<int> {
    std::expected<void, Error> ready;
    if (drive.resumes.empty()) {
      ready = co_await stage.begin();
    } else {
      co_await stage.go_on_with(drive.resumes);
    }
    outcome = ready ? co_await run(stage.world()) : std::unexpected(std::move(ready.error()));
    co_return kOk;
  });
  return report(drive, outcome, surroundings.recorded());
}

}  // namespace treaty::cli
