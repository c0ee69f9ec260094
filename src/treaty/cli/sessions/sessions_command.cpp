// `treaty sessions`: looks into the store of a server, running or not, and prunes it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <vector>

#include "treaty/base/clock.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/sessions/session_report.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/shared/wait_for.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::sessions {
namespace {

constexpr const char* kLocal = "local";  // The tenant of a server without keys.
constexpr std::size_t kPage = 500;

CommandFailure store_failure(const Error& error) {
  CommandFailure failure = failure_of(error);
  failure.next.clear();
  return failure;
}

template <class T>
Result<T> await_store(boost::asio::awaitable<std::expected<T, Error>> task) {
  return wait_for(std::move(task), store_failure);
}

struct Job {
  const Arguments& arguments;
  store::Store& store;

  bool is_json() const { return wants_json(arguments); }
  std::optional<std::string> tenant() const {
    return arguments.has("--tenant") ? std::optional(arguments.get("--tenant")) : std::nullopt;
  }
};

Result<std::vector<store::Session>> all_sessions(const Job& job, std::size_t most) {
  std::vector<store::Session> sessions;
  while (sessions.size() < most) {
    const std::size_t limit = std::min(kPage, most - sessions.size());
    TREATY_TRY(
        auto page,
        await_store(job.store.list_sessions({.tenant = job.tenant(),
                                             .before = sessions.empty() ? 0 : sessions.back().id,
                                             .limit = limit})));
    const bool is_last = page.size() < limit;
    std::move(page.begin(), page.end(), std::back_inserter(sessions));
    if (is_last) break;
  }
  return sessions;
}

Result<std::vector<store::Turn>> all_turns(const Job& job, std::int64_t session) {
  std::vector<store::Turn> turns;
  while (true) {
    TREATY_TRY(auto page, await_store(job.store.list_turns(
                              session, turns.empty() ? 0 : turns.back().number, kPage)));
    const bool is_last = page.size() < kPage;
    std::move(page.begin(), page.end(), std::back_inserter(turns));
    if (is_last) return turns;
  }
}

// The session that the command line names, without its solution context.
Result<store::Session> named_session(const Job& job) {
  const store::Room room{job.tenant().value_or(kLocal), job.arguments.positionals[1]};
  TREATY_TRY(auto found, await_store(job.store.find_session(room)));
  if (found) return *std::move(found);
  return failed_with(kViolated,
                     fmt::format("tenant {} has no session {}; see `treaty sessions list`",
                                 harmless(room.tenant), harmless(room.session_id)));
}

Result<int> list(const Job& job) {
  std::size_t most = 100;
  if (job.arguments.has("--limit")) {
    most = parse_number<std::size_t>(job.arguments.get("--limit")).value_or(0);
    if (most == 0) return misused("--limit is a number from 1 on");
  }
  TREATY_TRY(const auto sessions, all_sessions(job, most));
  if (job.is_json()) {
    print_document(json_of(sessions) + "\n");
  } else {
    print("{}", sessions.empty() ? "no sessions\n" : table_of(sessions));
  }
  return kOk;
}

Result<int> show(const Job& job) {
  TREATY_TRY(auto session, named_session(job));
  TREATY_TRY(const auto turns, all_turns(job, session.id));
  if (job.is_json()) {
    TREATY_TRY(session.solution_context, await_store(job.store.solution_context(session.id)));
    print_document(json_of(session, turns) + "\n");
  } else {
    print("{}\n{}", table_of(std::span(&session, 1)), table_of(turns));
  }
  return kOk;
}

Result<int> export_all(const Job& job) {
  TREATY_TRY(auto session, named_session(job));
  TREATY_TRY(session.solution_context, await_store(job.store.solution_context(session.id)));
  TREATY_TRY(const auto turns, all_turns(job, session.id));
  print_document(line_of(session) + "\n");
  for (const store::Turn& turn : turns) {
    TREATY_TRY(const auto record, await_store(job.store.find_turn(session.room, turn.turn_id)));
    if (!record) continue;  // Deleted meanwhile.
    for (const store::Round& round : record->rounds) {
      print_document(line_of(record->turn, round.request) + "\n");
      if (round.answer) print_document(line_of(record->turn, *round.answer) + "\n");
    }
  }
  return kOk;
}

Result<int> prune(const Job& job) {
  const auto age = read_age(job.arguments.get("--older-than")).value_or(0);  // Checked by run().
  const auto now = unix_milliseconds(std::chrono::system_clock::now());
  const bool is_dry = job.arguments.has("--dry-run");
  TREATY_TRY(const auto pruned, await_store(is_dry ? job.store.prunable(now - age, job.tenant())
                                                   : job.store.prune(now - age, job.tenant())));
  if (job.is_json()) {
    print_json({{"Sessions", pruned.sessions}, {"Turns", pruned.turns}, {"DryRun", is_dry}});
  } else {
    print("{} {} with {}\n", is_dry ? "would delete" : "deleted",
          counted(static_cast<std::size_t>(pruned.sessions), "session"),
          counted(static_cast<std::size_t>(pruned.turns), "turn"));
  }
  return kOk;
}

struct Verb {
  std::string_view name;
  bool names_session;
  Result<int> (*run)(const Job&);
};

constexpr std::array<Verb, 4> kVerbs = {{{"list", false, list},
                                         {"show", true, show},
                                         {"export", true, export_all},
                                         {"prune", false, prune}}};

Result<int> run(const Arguments& arguments) {
  const auto& words = arguments.positionals;
  std::vector<std::string_view> names;
  const Verb* verb = nullptr;
  for (const Verb& one : kVerbs) {
    names.emplace_back(one.name);
    if (!words.empty() && words[0] == one.name) verb = &one;
  }
  if (words.empty()) return misused("say what to do: list, show, export or prune");
  if (verb == nullptr) {
    return misused(fmt::format("there is no \"{}\" here, but list, show, export and prune{}",
                               words[0], did_you_mean(names, words[0])));
  }
  if (words.size() != (verb->names_session ? 2U : 1U)) {
    return misused(
        fmt::format("{} {}", verb->name,
                    verb->names_session ? "needs one SESSION" : "takes no further argument"));
  }
  const bool prunes = verb->name == "prune";
  if (prunes && !read_age(arguments.get("--older-than"))) {
    return misused("prune needs --older-than and a time like 12h, 30d or 8w");
  }
  if (!prunes && (arguments.has("--older-than") || arguments.has("--dry-run"))) {
    return misused("--older-than and --dry-run belong to prune");
  }
  const bool writes = prunes && !arguments.has("--dry-run");
  const auto store =
      open_configured_store(arguments, writes ? store::Purpose::maintain : store::Purpose::read);
  if (!store) return std::unexpected(store_failure(store.error()));
  return verb->run({.arguments = arguments, .store = **store});
}

}  // namespace

Command command() {
  return {
      .name = "sessions",
      .positionals = "list|show SESSION|export SESSION|prune",
      .summary = "Look into the journal: list, show, export or prune sessions",
      .description =
          R"(Reads the store that the configuration names, also while a server runs. `export` prints
every request and answer of a session, one JSON object a line. `prune` deletes sessions
that nothing was written to for a time, with the executions of their machines. It keeps
a session while a turn or a machine of it runs. Exit: 0 done, 1 no such session, 2 wrong
usage, 69 no store or none that can be used, 78 a configuration that is not in order.)",
      .options =
          joined({configuration_options(),
                  {{"--tenant", "NAME", "Whose sessions: all for list and prune, else local"},
                   {"--limit", "N", "At most so many in a list (100), the newest first"},
                   {"--older-than", "AGE", "prune: nothing was written for 12h, 30d, 8w"},
                   {"--dry-run", "", "prune: only say how many"},
                   format_option()}}),
      .examples = {{"sessions list", "The newest sessions"},
                   {"sessions show s1", "A session and its turns"},
                   {"sessions export s1 > s1.ndjson", "Everything that was said in it"},
                   {"sessions prune --older-than 30d --dry-run", "What would go?"}},
      .words = {"list", "show", "export", "prune"},
      .run = run,
  };
}

}  // namespace treaty::cli::sessions
