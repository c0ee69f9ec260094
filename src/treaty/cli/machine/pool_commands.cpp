// `treaty machine pool`, work that any number of processes share, and `treaty machine work`, which
// runs a machine for each item of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/input.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_drive.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/leases.h"
#include "treaty/store/work_pool.h"

namespace treaty::cli::machine_pool {
namespace {

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

Result<int> push(const Job& job) {
  TREATY_TRY(const auto ids,
             await_store(job.store.push_work(job.pool, job.items, job.max_retries)));
  if (wants_json(job.arguments)) {
    print_json({{"pool", job.pool}, {"count", ids.size()}, {"ids", ids}});
  } else {
    print("pushed {} to {}\n", counted(ids.size(), "item"), harmless(job.pool));
  }
  return kOk;
}

Result<int> status(const Job& job) {
  TREATY_TRY(const auto counts, await_store(job.store.count_work(job.pool)));
  if (wants_json(job.arguments)) {
    print_json({{"pool", job.pool},
                {"pending", counts.pending},
                {"claimed", counts.claimed},
                {"completed", counts.completed},
                {"poisoned", counts.poisoned}});
  } else {
    print("{}: {} pending, {} claimed, {} completed, {} poisoned\n", harmless(job.pool),
          counts.pending, counts.claimed, counts.completed, counts.poisoned);
  }
  return kOk;
}

// An item that is poisoned because its workers died. `execution`: whether it has one; `options`:
// those that the next command needs to find it.
std::string poisoned_text(const store::ReleasedWork::Poisoned& item, const std::string& pool,
                          bool execution, const std::string& options) {
  const std::string next =
      execution ? "how far it came: treaty machine show " + shell_word(execution_of(pool, item.id))
                : "how many there are: treaty machine pool status " + shell_word(pool);
  return fmt::format(
      "item {} is poisoned and will not be tried again: it was claimed {}, and its last worker "
      "died before it was done\n  See {}{}\n",
      harmless(item.id), counted(static_cast<std::size_t>(item.attempts), "time"), next, options);
}

Result<int> claim(const Job& job) {
  TREATY_TRY(const auto released, await_store(job.store.release_stale_work(job.pool)));
  for (const auto& item : released.poisoned) {
    TREATY_TRY(const auto begun,
               await_store(job.store.find_execution(execution_of(job.pool, item.id))));
    print_error("treaty machine pool: {}",
                poisoned_text(item, job.pool, begun.has_value(), options_to_find(job.arguments)));
  }
  TREATY_TRY(const auto item, await_store(job.store.claim_work(job.pool, job.worker)));
  if (!item) {
    return failed_with(kNothingPending, fmt::format("{} has no pending item", harmless(job.pool)));
  }
  json::Writer writer;
  writer.begin_object().member("id", item->id).member("attempts", item->attempts);
  print_document(writer.name("data").raw(item->data).end_object().take() + "\n");
  return kOk;
}

// What is said of an item's end, as JSON.
Result<std::string> told(const Job& job) {
  TREATY_TRY(const auto value, read_json_argument("what is said of its end",
                                                  job.words.size() > 1 ? job.words[1] : "{}"));
  return json::to_json(value);
}

Result<int> complete(const Job& job) {
  TREATY_TRY(const auto result, told(job));
  TREATY_TRY_VOID(await_store(job.store.complete_work(job.pool, job.words[0], job.worker, result)));
  print_json({{"id", job.words[0]}, {"status", "completed"}});
  return kOk;
}

Result<int> fail(const Job& job) {
  TREATY_TRY(const auto error, told(job));
  TREATY_TRY_VOID(await_store(job.store.fail_work(job.pool, job.words[0], job.worker, error)));
  print_json({{"id", job.words[0]}, {"status", "failed"}});
  return kOk;
}

Result<int> heartbeat(const Job& job) {
  TREATY_TRY_VOID(await_store(job.store.heartbeat(job.pool, job.worker)));
  return kOk;
}

struct Verb {
  std::string_view name;
  std::string_view words;  // That it takes behind the pool.
  std::size_t fewest;
  std::size_t most;
  bool needs_worker;
  store::Purpose purpose;
  Result<int> (*run)(const Job&);
};

constexpr std::array<Verb, 6> kVerbs = {{
    {"push", "[ITEM]", 0, 1, false, store::Purpose::run, push},
    {"status", "", 0, 0, false, store::Purpose::read, status},
    {"claim", "", 0, 0, true, store::Purpose::run, claim},
    {"complete", "ITEM-ID [RESULT]", 1, 2, true, store::Purpose::run, complete},
    {"fail", "ITEM-ID [ERROR]", 1, 2, true, store::Purpose::run, fail},
    {"heartbeat", "", 0, 0, true, store::Purpose::run, heartbeat},
}};

Result<const Verb*> verb_of(const std::vector<std::string>& words) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    names.push_back(verb.name);
    if (words.empty() || words[0] != verb.name) continue;
    const std::size_t behind = words.size() < 2 ? 0 : words.size() - 2;
    if (words.size() >= 2 && behind >= verb.fewest && behind <= verb.most) return &verb;
    return misused(
        fmt::format("{} takes: NAME{}{}", verb.name, verb.words.empty() ? "" : " ", verb.words));
  }
  return misused(fmt::format("say what to do: push, status, claim, complete, fail or heartbeat{}",
                             words.empty() ? "" : did_you_mean(names, words[0])));
}

Result<std::vector<std::string>> items_of(const Arguments& arguments) {
  const bool has_word = arguments.positionals.size() > 2;
  if (has_word == arguments.has("--items")) {
    return misused("push takes one ITEM as JSON, or --items FILE");
  }
  if (has_word) {
    TREATY_TRY(const auto item, read_json_argument("ITEM", arguments.positionals[2]));
    return std::vector{json::to_json(item)};
  }
  const auto text = read_input(arguments.get("--items"), kLargestInput);
  if (!text) return misused("--items: " + text.error().message);
  if (text->size() > kLargestInput) return misused("--items: at most 64 MiB at a time");
  auto items = read_items(*text);
  if (!items) return misused("--items: " + items.error());
  return *std::move(items);
}

Result<int> run(const Arguments& arguments) {
  const auto& words = arguments.positionals;
  TREATY_TRY(const Verb* verb, verb_of(words));
  if (!is_pool_name(words[1])) {
    return misused("a pool's name is up to 100 bytes without `/`, and not beginning with a dot");
  }
  if (verb->needs_worker && arguments.get("--worker").empty()) {
    return misused(fmt::format("{} needs --worker NAME: who does it", verb->name));
  }
  TREATY_TRY(const auto retries, read_count(arguments, "--max-retries", 1, 3));
  std::vector<std::string> items;
  if (verb->run == push) {
    TREATY_TRY(auto read, items_of(arguments));
    items = std::move(read);
  }
  TREATY_TRY(const auto store, open_to_look(arguments, verb->purpose));
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return verb->run({.arguments = arguments,
                    .store = store.machines(),
                    .pool = words[1],
                    .worker = arguments.get("--worker"),
                    .words = {words.begin() + 2, words.end()},
                    .items = std::move(items),
                    .max_retries = static_cast<int>(std::min(retries, kMost))});
}

namespace asio = boost::asio;

constexpr const char* kWork = "machine work";
constexpr double kHeartbeat = 30;  // Seconds.

struct Order {
  std::shared_ptr<const machines::Machine> machine{};
  std::string pool{};
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool is_json = false;
  std::string options{};  // Those that another command needs to find the pool.
};

class Worker {
 public:
  Worker(MachineHost& host, store::MachineStore& store, const Order& order)
      : host_(host), store_(store), order_(order) {}

  asio::awaitable<int> run() {
    std::expected<void, Error> going;
    for (std::int64_t done = 0; going && done < order_.most && !host_.is_stopping(); ++done) {
      auto item = co_await next();
      if (!item) co_return tell_failure(kWork, machine_failure(item.error()));
      if (!*item) break;
      going = co_await work_on(**item);
    }
    if (!going) co_return tell_failure(kWork, machine_failure(going.error()));
    tell_sum();
    if (host_.is_stopping()) co_return kTryLater;
    co_return failed_ > 0 ? kViolated : waiting_ > 0 ? kMachineWaits : kOk;
  }

 private:
  using Item = std::optional<store::WorkItem>;

  // What others have left behind is done too.
  asio::awaitable<std::expected<Item, Error>> next() {
    auto item = co_await store_.claim_work(order_.pool, name_);
    if (!item || *item) co_return item;
    TREATY_CO_TRY(const auto released, co_await store_.release_stale_work(order_.pool));
    for (const auto& poisoned : released.poisoned) {
      TREATY_CO_TRY_VOID(co_await end_poisoned(poisoned));
    }
    if (released.pending == 0) co_return Item();
    co_return co_await store_.claim_work(order_.pool, name_);
  }

  // It counts as failed, though it was another worker that failed: no process says so otherwise.
  asio::awaitable<std::expected<void, Error>> end_poisoned(
      const store::ReleasedWork::Poisoned& item) {
    const std::string execution = execution_of(order_.pool, item.id);
    TREATY_CO_TRY(const auto begun, co_await store_.find_execution(execution));
    ++failed_;
    print_error("treaty {}: {}", kWork,
                poisoned_text(item, order_.pool, begun.has_value(), order_.options));
    if (order_.is_json) {
      const json::Document error(store::kWorkerGone);
      tell({.id = item.id, .attempts = item.attempts},
           {.status = machines::Status::failed,
            .execution = execution,
            .error = json::to_dynamic_object(*error.root())});
    }
    co_return std::expected<void, Error>();
  }

  asio::awaitable<std::expected<void, Error>> work_on(const store::WorkItem& item) {
    const std::string execution = execution_of(order_.pool, item.id);
    TREATY_CO_TRY(const auto begun, co_await store_.find_execution(execution));
    if (begun) {
      co_await host_.go_on_with(execution);
    } else if (auto ready = co_await host_.begin(); !ready) {
      co_return ready;
    }
    const machines::World world = host_.world();
    machines::Start start{.execution = execution, .input = input_of_item(item.data)};
    machines::Outcome outcome;
    co_await world.timeline.alongside(
        [&]() -> asio::awaitable<void> {
          outcome = co_await machines::run_or_resume(world, order_.machine, start);
        },
        [&]() -> asio::awaitable<void> {
          while (co_await world.timeline.wait(kHeartbeat)) {
            (void)co_await store_.heartbeat(order_.pool, name_);
          }
        });
    co_return co_await end(item, outcome);
  }

  // An item whose machine waits, was interrupted or is run by another process stays claimed: the
  // next worker takes it when this process is gone. That is no failed attempt.
  asio::awaitable<std::expected<void, Error>> end(const store::WorkItem& item,
                                                  const machines::Outcome& outcome) {
    std::expected<void, Error> ended;
    tell(item, outcome);
    switch (outcome.status) {
      case machines::Status::completed:
        ++completed_;
        ended = co_await store_.complete_work(order_.pool, item.id, name_,
                                              json::to_json(outcome.output));
        break;
      case machines::Status::failed:
        ++failed_;
        ended =
            co_await store_.fail_work(order_.pool, item.id, name_, json::to_json(outcome.error));
        break;
      case machines::Status::waiting: ++waiting_; [[fallthrough]];
      case machines::Status::interrupted:
        ended = co_await store_.excuse_work(order_.pool, item.id, name_);
        break;
      case machines::Status::lost:
        if (outcome.trouble.code != ErrorCode::conflict) co_return std::unexpected(outcome.trouble);
        ended = co_await store_.excuse_work(order_.pool, item.id, name_);
        break;
    }
    // Somebody took it for abandoned, and does it: what he finds is done is not done again.
    if (!ended && ended.error().code == ErrorCode::conflict) co_return std::expected<void, Error>();
    co_return ended;
  }

  void tell(const store::WorkItem& item, const machines::Outcome& outcome) const {
    if (order_.is_json) {
      json::Writer writer;
      writer.begin_object().member("item", item.id).member("attempts", item.attempts);
      writer.name("outcome").raw(outcome_json(outcome, nullptr)).end_object();
      print_document(writer.take() + "\n");
    } else if (outcome.status != machines::Status::completed) {
      print_error("treaty {}: item {}: {}", kWork, harmless(item.id),
                  outcome_text(outcome, std::nullopt));
    }
  }

  void tell_sum() const {
    if (order_.is_json) {
      print_json({{"pool", order_.pool},
                  {"completed", completed_},
                  {"failed", failed_},
                  {"waiting", waiting_}});
    } else {
      print("{}: {} completed, {} failed, {} waiting\n", harmless(order_.pool), completed_, failed_,
            waiting_);
    }
  }

  MachineHost& host_;
  store::MachineStore& store_;
  const Order& order_;
  const std::string name_ = store::new_owner();
  std::int64_t completed_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t waiting_ = 0;
};

Result<int> work(const OpenMachineAgents& open_agents, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) return misused("name one machine file");
  Order order{.pool = arguments.get("--pool"),
              .is_json = wants_json(arguments),
              .options = options_to_find(arguments)};
  if (!is_pool_name(order.pool)) {
    return misused("name the pool: --pool NAME, as for `treaty machine pool push`");
  }
  TREATY_TRY(order.most, read_count(arguments, "--max", 1, order.most));
  TREATY_TRY(auto script, read_script_option(arguments));
  TREATY_TRY(order.machine, read_machine_to_run(kWork, arguments, script));
  TREATY_TRY(const auto store, open_to_look(arguments, store::Purpose::run));
  return run_on_host({.command = kWork,
                      .open_agents = open_agents,
                      .arguments = arguments,
                      .store = store,
                      .script = std::move(script)},
                     [&](MachineHost& host) -> asio::awaitable<int> {
                       Worker worker(host, store.machines(), order);
                       co_return co_await worker.run();
                     });
}

}  // namespace

Command command() {
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
      .run = run,
  };
}

Command work_command(OpenMachineAgents open) {
  return {
      .name = "work",
      .positionals = "FILE",
      .summary = "Run a machine for each item of a pool, beside other processes",
      .description =
          R"(Takes items one by one until none is pending. An item is the machine's input; one that
is no object comes as `input.item`. The execution is named after the pool and the item:
what a killed worker has begun is gone on with. JSON is a line for each item, then the
sum. An item whose workers died too often is poisoned, and counts as failed. Exit: 0
done, 1 an item failed, 2 refused or wrong usage, 3 a machine waits for a signal, 75
interrupted, 69 no store or none that can be used, 78 a configuration that is not in
order.)",
      .options = joined({{
                             {"--pool", "NAME", "Whose items"},
                             {"--max", "N", "At most so many items"},
                         },
                         driving_options(Steps::unlimited)}),
      .examples = {{"machine work letter.yml --pool letters", "Until the pool is empty"},
                   {"machine work letter.yml --pool letters --max 10 --format json",
                    "Ten items, for a program"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return work(open, arguments); },
  };
}

}  // namespace treaty::cli::machine_pool
