#include "treaty/cli/machine/machine_drive.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/shared/client_tools.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"
#include "treaty/http/client.h"
#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/machines/journal/history.h"
#include "treaty/machines/run/world.h"
#include "treaty/machines/script/simulation.h"
#include "treaty/tools/runner.h"

namespace treaty::cli {
namespace {

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
  if (kind == "dispatch") return fmt::format("{}    {} (rule {})", indent, detail, event.code);
  if (kind == "tool") return fmt::format("{}    uses {}", indent, detail);
  if (kind == "child") return fmt::format("{}    runs {}", indent, detail);
  if (kind == "launch") return fmt::format("{}    launches {}", indent, detail);
  if (kind == "error") {
    return fmt::format("{}    {}", indent, painted(detail, Color::red, colors));
  }
  return "";
}

// On a terminal all that a run does; elsewhere only what dispatch decides about failures and waits.
class MachineProgress final : public machines::RunObserver {
 public:
  explicit MachineProgress(bool shows_all) : shows_all_(shows_all) {}

  void on_event(const machines::RunEvent& event) override {
    if (!shows_all_ && event.kind != "dispatch") return;
    const std::string line = progress_line(event, shows_all_ && std::getenv("NO_COLOR") == nullptr);
    if (!line.empty()) print_error("{}\n", line);
  }

 private:
  const bool shows_all_;
};

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
class ProcessHost final : public MachineHost {
 public:
  ProcessHost(asio::io_context& loop, const MachineDrive& drive)
      : loop_(loop), drive_(drive), progress_(!wants_json(drive.arguments) && isatty(2) != 0) {}

  Result<void> open() {
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
    TREATY_TRY(auto tools, read_client_tools(drive_.arguments));
    tools_ = std::make_unique<ToolCommands>(std::move(tools));
    TREATY_TRY(const auto configuration,
               load_private_configuration(drive_.command, drive_.arguments));
    TREATY_TRY(agents_, map_error(drive_.open_agents(loop_, configuration, drive_.store.whole()),
                                  failure_of));
    return {};
  }

  machines::World world() override {
    const auto opener = machine_opener(names_of(hooks_));
    machines::Simulation* script = simulation_.get();
    return {.agents = script ? static_cast<machines::Agents&>(*script) : *agents_,
            .tools = script ? static_cast<tools::ToolRunner&>(*script) : *tools_,
            .timeline = script ? script->timeline() : *timeline_,
            .store = drive_.store.machines(),
            .hooks = hooks_,
            .open_machine = opener,
            .observer = &progress_,
            .after_write = script ? script->after_write() : machines::AfterWrite(),
            .notes_hooks = script != nullptr,
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
            co_await drive_.store.machines().send_signal(channel, json::to_json(data)));
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
  asio::io_context& loop_;
  const MachineDrive& drive_;
  MachineProgress progress_;
  bool is_stopped_ = false;
  machines::HookRegistry built_in_{};
  machines::HookRegistry hooks_{};
  std::unique_ptr<machines::Simulation> simulation_{};
  std::unique_ptr<machines::Timeline> timeline_{};
  std::unique_ptr<machines::Agents> agents_{};
  std::unique_ptr<tools::ToolRunner> tools_{};
};

Result<int> report(const MachineDrive& drive,
                   const std::expected<machines::Outcome, Error>& outcome,
                   const machines::List* hooks) {
  if (!outcome) return std::unexpected(machine_failure(outcome.error()));
  const auto& options = drive.store.options();
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

Result<std::optional<machines::Script>> read_script_option(const Arguments& arguments) {
  if (!arguments.has("--script")) return std::nullopt;
  const std::string path = arguments.get("--script");
  const auto failed = [&](int code, std::string_view why) {
    return failed_with(code, fmt::format("{}: {}", harmless(path), harmless(why)));
  };
  const auto text = read_input(path, kLargestScript);
  if (!text) return failed(kUnavailable, text.error().message);
  auto script = machines::read_script(*text);
  if (!script) return failed(kWrongUsage, script.error());
  return std::optional(std::move(*script));
}

Result<std::shared_ptr<const machines::Machine>> read_machine_to_run(
    std::string_view command, const Arguments& arguments,
    const std::optional<machines::Script>& script) {
  const std::string& path = arguments.positionals.front();
  HookNames hooks;
  if (script) {
    for (const auto& [name, _] : script->hooks) hooks.insert(name);
  }
  auto file = read_machine_file(path, hooks);
  if (!file) return failed_with(kUnavailable, text_of(file.error()));
  if (file->machine) return file->machine;
  return failed_with(refuse_machine(command, path, *std::move(file), wants_json(arguments)), "");
}

namespace {

asio::awaitable<int> run_task(ProcessHost& host, const HostTask& run) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return co_await run(host);
}

int run_loop(asio::io_context& loop, ProcessHost& host, const HostTask& run) {
  asio::cancellation_signal stop;
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (error) return;
    host.stop();
    stop.emit(asio::cancellation_type::terminal);
    signals.clear();  // Another one ends the process at once.
  });
  int code = kUnavailable;
  asio::co_spawn(
      loop, run_task(host, run),
      asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr&, int ended) {
        code = ended;
        signals.cancel();
      }));
  loop.run();  // Machines that were launched are waited for, too.
  return code;
}

}  // namespace

Result<int> run_on_host(const MachineDrive& drive, const HostTask& run) {
  asio::io_context loop(1);
  ProcessHost host(loop, drive);
  TREATY_TRY_VOID(host.open());
  return run_loop(loop, host, run);
}

Result<int> drive_machines(const MachineDrive& drive, const InWorld& run) {
  asio::io_context loop(1);
  ProcessHost host(loop, drive);
  TREATY_TRY_VOID(host.open());
  std::expected<machines::Outcome, Error> outcome;
  run_loop(loop, host, [&](MachineHost& host) -> asio::awaitable<int> {
    std::expected<void, Error> ready;
    if (drive.resumes.empty()) {
      ready = co_await host.begin();
    } else {
      co_await host.go_on_with(drive.resumes);
    }
    outcome = ready ? co_await run(host.world()) : std::unexpected(std::move(ready.error()));
    co_return kOk;
  });
  return report(drive, outcome, host.recorded());
}

}  // namespace treaty::cli
