// `treaty machine pool`: work that any number of processes share.
#include <array>
#include <limits>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/pool_items.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::machine_pool {
namespace {

constexpr const char* kPool = "machine pool";
constexpr std::size_t kLargestInput = std::size_t{64} << 20U;
constexpr int kNothingPending = kMachineWaits;

struct Job {
  const Arguments& arguments;
  store::MachineStore& store;
  std::string pool{};
  std::string worker{};
  std::vector<std::string> words{};  // Behind the name of the pool.
  std::vector<std::string> items{};  // To be pushed.
  int max_retries = 0;
};

int push(const Job& job) {
  const auto ids = wait_for(job.store.push_work(job.pool, job.items, job.max_retries));
  if (!ids) return tell_trouble(kPool, ids.error());
  if (!wants_json(job.arguments)) {
    print("pushed {} to {}\n", ids->size() == 1 ? "1 item" : fmt::format("{} items", ids->size()),
          harmless(job.pool));
    return kOk;
  }
  json::Writer writer;
  writer.begin_object().member("pool", job.pool).member("count", ids->size());
  writer.name("ids").begin_array();
  for (const std::string& id : *ids) writer.value(id);
  print_document(writer.end_array().end_object().take() + "\n");
  return kOk;
}

int status(const Job& job) {
  const auto counts = wait_for(job.store.count_work(job.pool));
  if (!counts) return tell_trouble(kPool, counts.error());
  if (!wants_json(job.arguments)) {
    print("{}: {} pending, {} claimed, {} completed, {} poisoned\n", harmless(job.pool),
          counts->pending, counts->claimed, counts->completed, counts->poisoned);
    return kOk;
  }
  json::Writer writer;
  writer.begin_object()
      .member("pool", job.pool)
      .member("pending", counts->pending)
      .member("claimed", counts->claimed)
      .member("completed", counts->completed)
      .member("poisoned", counts->poisoned);
  print_document(writer.end_object().take() + "\n");
  return kOk;
}

int claim(const Job& job) {
  if (auto released = wait_for(job.store.release_stale_work(job.pool)); !released) {
    return tell_trouble(kPool, released.error());
  }
  const auto item = wait_for(job.store.claim_work(job.pool, job.worker));
  if (!item) return tell_trouble(kPool, item.error());
  if (!*item) {
    print_error("treaty {}: {} has no pending item\n", kPool, harmless(job.pool));
    return kNothingPending;
  }
  json::Writer writer;
  writer.begin_object().member("id", (*item)->id).member("attempts", (*item)->attempts);
  print_document(writer.name("data").raw((*item)->data).end_object().take() + "\n");
  return kOk;
}

int ended(const Job& job, const std::expected<void, Error>& done, std::string_view how) {
  if (!done) return tell_trouble(kPool, done.error());
  json::Writer writer;
  writer.begin_object().member("id", job.words[0]).member("status", how);
  print_document(writer.end_object().take() + "\n");
  return kOk;
}

// What is said of an item's end, as JSON.
std::expected<std::string, int> told(const Job& job) {
  const auto value =
      read_json_argument("what is said of its end", job.words.size() > 1 ? job.words[1] : "{}");
  if (!value) return std::unexpected(wrong_usage(kPool, value.error()));
  return json_text_of(*value);
}

int complete(const Job& job) {
  const auto result = told(job);
  if (!result) return result.error();
  return ended(job, wait_for(job.store.complete_work(job.pool, job.words[0], job.worker, *result)),
               "completed");
}

int fail(const Job& job) {
  const auto error = told(job);
  if (!error) return error.error();
  return ended(job, wait_for(job.store.fail_work(job.pool, job.words[0], job.worker, *error)),
               "failed");
}

int heartbeat(const Job& job) {
  const auto done = wait_for(job.store.heartbeat(job.pool, job.worker));
  return done ? kOk : tell_trouble(kPool, done.error());
}

struct Verb {
  std::string_view name;
  std::string_view words;  // That it takes behind the pool.
  std::size_t fewest;
  std::size_t most;
  bool needs_worker;
  store::Purpose purpose;
  int (*run)(const Job&);
};

constexpr std::array<Verb, 6> kVerbs = {{
    {"push", "[ITEM]", 0, 1, false, store::Purpose::run, push},
    {"status", "", 0, 0, false, store::Purpose::read, status},
    {"claim", "", 0, 0, true, store::Purpose::run, claim},
    {"complete", "ITEM-ID [RESULT]", 1, 2, true, store::Purpose::run, complete},
    {"fail", "ITEM-ID [ERROR]", 1, 2, true, store::Purpose::run, fail},
    {"heartbeat", "", 0, 0, true, store::Purpose::run, heartbeat},
}};

// The error is told already: it is the exit code.
std::expected<const Verb*, int> verb_of(const std::vector<std::string>& words) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    names.push_back(verb.name);
    if (words.empty() || words[0] != verb.name) continue;
    const std::size_t behind = words.size() < 2 ? 0 : words.size() - 2;
    if (words.size() >= 2 && behind >= verb.fewest && behind <= verb.most) return &verb;
    return std::unexpected(wrong_usage(
        kPool,
        fmt::format("{} takes: NAME{}{}", verb.name, verb.words.empty() ? "" : " ", verb.words)));
  }
  const std::string meant(words.empty() ? "" : closest(names, words[0]));
  return std::unexpected(wrong_usage(
      kPool, fmt::format("say what to do: push, status, claim, complete, fail or heartbeat{}",
                         meant.empty() ? "" : "; did you mean " + meant + "?")));
}

std::expected<std::vector<std::string>, std::string> items_of(const Arguments& arguments) {
  const bool has_word = arguments.positionals.size() > 2;
  if (has_word == arguments.has("--items")) {
    return std::unexpected("push takes one ITEM as JSON, or --items FILE");
  }
  if (has_word) {
    TREATY_TRY(const auto item, read_json_argument("ITEM", arguments.positionals[2]));
    return std::vector{json_text_of(item)};
  }
  const auto text = read_input(arguments.get("--items"), kLargestInput);
  if (!text) return std::unexpected("--items: " + text.error().message);
  if (text->size() > kLargestInput) return std::unexpected("--items: at most 64 MiB at a time");
  auto items = read_items(*text);
  if (!items) return std::unexpected("--items: " + items.error());
  return items;
}

int run(const MachineServices& services, const Arguments& arguments) {
  const auto& words = arguments.positionals;
  const auto verb = verb_of(words);
  if (!verb) return verb.error();
  if (!is_pool_name(words[1])) {
    return wrong_usage(kPool,
                       "a pool's name is up to 100 bytes without `/`, and not beginning "
                       "with a dot");
  }
  if ((*verb)->needs_worker && arguments.get("--worker").empty()) {
    return wrong_usage(kPool, fmt::format("{} needs --worker NAME: who does it", (*verb)->name));
  }
  const auto retries = read_count(arguments, "--max-retries", 1, 3);
  if (!retries) return wrong_usage(kPool, retries.error());
  std::vector<std::string> items;
  if ((*verb)->run == push) {
    auto read = items_of(arguments);
    if (!read) return wrong_usage(kPool, read.error());
    items = std::move(*read);
  }
  const auto store = open_to_look(kPool, services, arguments, (*verb)->purpose);
  if (!store) return store.error();
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return (*verb)->run({.arguments = arguments,
                       .store = store->machines(),
                       .pool = words[1],
                       .worker = arguments.get("--worker"),
                       .words = {words.begin() + 2, words.end()},
                       .items = std::move(items),
                       .max_retries = static_cast<int>(std::min(*retries, kMost))});
}

}  // namespace

Command command(const MachineServices& services) {
  return {
      .name = "pool",
      .positionals = "push|status|claim|complete|fail|heartbeat NAME [ITEM]",
      .summary = "Share work between processes: push items, count, claim and end them",
      .description =
          R"(`treaty machine work` runs a machine for each item. Programs that do it themselves
claim an item, tell that they live (heartbeat, every 30 s), and complete or fail it,
under the same --worker. An item of a worker that is silent for long is pending again;
one that failed too often is poisoned. Exit: 0 done, 2 wrong usage, 3 nothing is
pending, 75 another worker has the item, 69 no store or none that can be used, 78 a
configuration that is not in order.)",
      .options =
          joined({{
                      {"--items", "FILE",
                       "push: a JSON list, or one JSON value a line; - is standard input"},
                      {"--max-retries", "N", "push: an item that fails is tried so many times (3)"},
                      {"--worker", "NAME", "claim, complete, fail, heartbeat: who does it"},
                  },
                  looking_options()}),
      .examples = {{"machine pool push letters --items letters.ndjson", "Put work in"},
                   {"machine pool push letters '{\"to\": \"Ada\"}'", "One item"},
                   {"machine pool status letters --format json", "How far is it?"},
                   {"machine pool claim letters --worker w1", "Take the oldest item"},
                   {"machine pool complete letters ID '{\"ok\": true}' --worker w1", "It is done"}},
      .words = {"push", "status", "claim", "complete", "fail", "heartbeat"},
      .run = [services](const Arguments& arguments) { return run(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_pool
