// `treaty machine run` and `treaty machine resume`.
#include "treaty/base/ids.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/check_report.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_drive.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::machine_run {
namespace {

constexpr const char* kRun = "machine run";
constexpr const char* kResume = "machine resume";

std::expected<machines::Object, std::string> read_input_option(const Arguments& arguments) {
  TREATY_TRY(auto input, read_json_argument("--input", arguments.get("--input", "{}")));
  if (!input.is_object()) {
    return std::unexpected("--input must be a JSON object, like '{\"topic\": \"tea\"}', or @FILE");
  }
  return std::move(input.get_object());
}

std::expected<std::optional<std::int64_t>, std::string> read_max_steps(const Arguments& arguments) {
  if (!arguments.has("--max-steps")) return std::nullopt;
  const auto steps = read_number<std::int64_t>(arguments.get("--max-steps"));
  if (steps && *steps >= 1) return steps;
  return std::unexpected("--max-steps is a number of 1 or more");
}

int run(const MachineServices& services, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) return wrong_usage(kRun, "name one machine file");
  const std::string& path = arguments.positionals.front();
  auto input = read_input_option(arguments);
  if (!input) return wrong_usage(kRun, input.error());
  const auto max_steps = read_max_steps(arguments);
  if (!max_steps) return wrong_usage(kRun, max_steps.error());
  auto script = read_script_option(kRun, arguments);
  if (!script) return script.error();
  const std::string execution = arguments.get("--id", new_uuid());
  if (!store::is_execution_id(execution)) {
    return wrong_usage(kRun, "--id is up to 200 characters without `/`, not beginning with a dot");
  }
  auto file = read_machine_file(path, known_hooks(*script));
  if (!file) {
    print_error("treaty {}: {}: {}\n", kRun, harmless(path), harmless(file.error().message));
    return kUnavailable;
  }
  if (!file->loaded.machine) {
    return refuse_machine(kRun, path, std::move(file->loaded), wants_json(arguments));
  }

  // A simulation leaves nothing behind, unless it is told where.
  machines::Persistence persistence = file->loaded.machine->persistence;
  const bool is_told_where = arguments.has("--store") || arguments.has("--state-dir");
  if (*script && !is_told_where) persistence.kind = machines::PersistenceKind::memory;
  const auto store = open_machines(kRun, services, arguments, store::Purpose::run, &persistence);
  if (!store) return store.error();
  machines::Start start{.execution = execution, .input = std::move(*input)};
  start.max_steps = *max_steps;
  const auto machine = file->loaded.machine;
  return drive_machines({.command = kRun,
                         .services = services,
                         .arguments = arguments,
                         .store = *store,
                         .script = std::move(*script)},
                        [&](const machines::World& world)
                            -> boost::asio::awaitable<std::expected<machines::Outcome, Error>> {
                          co_return co_await machines::run_machine(world, machine, start);
                        });
}

int resume(const MachineServices& services, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) {
    return wrong_usage(kResume, "name one execution; `treaty machine list` lists them");
  }
  const std::string& execution = arguments.positionals.front();
  const auto max_steps = read_max_steps(arguments);
  if (!max_steps) return wrong_usage(kResume, max_steps.error());
  auto script = read_script_option(kResume, arguments);
  if (!script) return script.error();
  const auto store = open_machines(kResume, services, arguments, store::Purpose::run, nullptr);
  if (!store) return store.error();
  const MachineDrive how{.command = kResume,
                         .services = services,
                         .arguments = arguments,
                         .store = *store,
                         .script = std::move(*script),
                         .resumes = execution};
  return drive_machines(how, [&](const machines::World& world) {
    return machines::resume_execution(world, execution, machine_reader(names_of(world.hooks)),
                                      *max_steps);
  });
}

}  // namespace

Command command(const MachineServices& services) {
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
      .run = [services](const Arguments& arguments) { return run(services, arguments); },
  };
}

Command resume_command(const MachineServices& services) {
  return {
      .name = "resume",
      .positionals = "ID",
      .summary = "Go on with an execution where it stopped",
      .description =
          R"(After a crash, an interrupt, a failure or a wait. What was answered before is not asked
for again.)",
      .options = driving_options(),
      .examples = {{"machine resume 4f6c1c0a-6c5e-4c5b-9a55-0d5f6f1f9b7e", "Go on with it"}},
      .run = [services](const Arguments& arguments) { return resume(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_run
