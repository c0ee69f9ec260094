// `treaty machine prune`.
#include <chrono>

#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/sessions/session_report.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::machine_prune {
namespace {

constexpr const char* kPrune = "machine prune";

// The error is what to say.
std::expected<store::PruneQuery, std::string> read_query(const Arguments& arguments) {
  store::PruneQuery query{.only_count = arguments.has("--dry-run")};
  if (!arguments.has("--older-than") && !arguments.has("--keep")) {
    return std::unexpected("say what shall go: --older-than 30d, --keep 100, or both");
  }
  if (arguments.has("--older-than")) {
    const auto age = read_age(arguments.get("--older-than"));
    if (!age) return std::unexpected("--older-than is a time like 12h, 30d or 8w");
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    query.before = now - *age;
  }
  if (arguments.has("--keep")) {
    TREATY_TRY(const auto keep, read_count(arguments, "--keep", 0, 0));
    query.keep = static_cast<std::size_t>(keep);
  }
  return query;
}

int prune(const MachineServices& services, const Arguments& arguments) {
  const auto query = read_query(arguments);
  if (!query) return wrong_usage(kPrune, query.error());
  const auto purpose = query->only_count ? store::Purpose::read : store::Purpose::maintain;
  const auto store = open_to_look(kPrune, services, arguments, purpose);
  if (!store) return store.error();
  const auto pruned = wait_for(store->machines().prune_executions(*query));
  if (!pruned) return tell_trouble(kPrune, pruned.error());
  if (!wants_json(arguments)) {
    print("{} {}\n", query->only_count ? "would delete" : "deleted",
          pruned->size() == 1 ? "1 execution" : fmt::format("{} executions", pruned->size()));
    return kOk;
  }
  json::Writer writer;
  writer.begin_object().member("count", pruned->size()).name("executions").begin_array();
  for (const std::string& execution : *pruned) writer.value(execution);
  writer.end_array().member("dry_run", query->only_count).end_object();
  print_document(writer.take() + "\n");
  return kOk;
}

}  // namespace

Command command(const MachineServices& services) {
  return {
      .name = "prune",
      .positionals = "",
      .summary = "Delete old executions with all that they have kept",
      .description =
          R"(Whole executions, and never one that a process runs or that waits for a signal. Say at
least one of the two limits. Exit: 0 done, 2 wrong usage, 69 no store or none that can
be used, 78 a configuration that is not in order.)",
      .options =
          joined({{
                      {"--older-than", "AGE", "Those that nothing was written to for 12h, 30d, 8w"},
                      {"--keep", "N", "Of what is left, all but the newest N"},
                      {"--dry-run", "", "Only say which"},
                  },
                  looking_options()}),
      .examples = {{"machine prune --older-than 30d --dry-run", "What would go?"},
                   {"machine prune --older-than 30d --keep 1000 --format json",
                    "Delete them, and say which"}},
      .run = [services](const Arguments& arguments) { return prune(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_prune
