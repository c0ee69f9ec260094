// `treaty machine work`: runs a machine for each item of a pool.
#include <limits>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/machine/check_report.h"
#include "treaty/cli/machine/json_argument.h"
#include "treaty/cli/machine/machine_drive.h"
#include "treaty/cli/machine/machine_stores.h"
#include "treaty/cli/machine/pool_items.h"
#include "treaty/cli/machine/run_report.h"
#include "treaty/cli/terminal.h"
#include "treaty/store/leases.h"

namespace treaty::cli::machine_work {
namespace {

namespace asio = boost::asio;

constexpr const char* kWork = "machine work";
constexpr double kHeartbeat = 30;  // Seconds.

struct Order {
  std::shared_ptr<const machines::Machine> machine{};
  std::string pool{};
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool is_json = false;
};

class Worker {
 public:
  Worker(MachineStage& stage, store::MachineStore& store, const Order& order)
      : stage_(stage), store_(store), order_(order) {}

  asio::awaitable<int> run() {
    std::expected<void, Error> going;
    for (std::int64_t done = 0; going && done < order_.most && !stage_.is_stopping(); ++done) {
      auto item = co_await next();
      if (!item) co_return tell_trouble(kWork, item.error());
      if (!*item) break;
      going = co_await work_on(**item);
    }
    if (!going) co_return tell_trouble(kWork, going.error());
    tell_sum();
    if (stage_.is_stopping()) co_return kTryLater;
    co_return failed_ > 0 ? kViolated : waiting_ > 0 ? kMachineWaits : kOk;
  }

 private:
  using Item = std::optional<store::WorkItem>;

  // What others have left behind is done too.
  asio::awaitable<std::expected<Item, Error>> next() {
    auto item = co_await store_.claim_work(order_.pool, name_);
    if (!item || *item) co_return item;
    TREATY_CO_TRY(const auto released, co_await store_.release_stale_work(order_.pool));
    if (released == 0) co_return Item();
    co_return co_await store_.claim_work(order_.pool, name_);
  }

  asio::awaitable<std::expected<void, Error>> work_on(const store::WorkItem& item) {
    const std::string execution = execution_of(order_.pool, item.id);
    if (item.attempts > 1) {
      co_await stage_.go_on_with(execution);
    } else if (auto ready = co_await stage_.begin(); !ready) {
      co_return ready;
    }
    const machines::World world = stage_.world();
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

  // An item whose machine waits, was interrupted or is run by somebody else stays claimed: who
  // works on the pool when this process is gone takes it up again.
  asio::awaitable<std::expected<void, Error>> end(const store::WorkItem& item,
                                                  const machines::Outcome& outcome) {
    std::expected<void, Error> ended;
    tell(item, outcome);
    switch (outcome.status) {
      case machines::Status::completed:
        ++completed_;
        ended = co_await store_.complete_work(order_.pool, item.id, name_,
                                              json_text_of(outcome.output));
        break;
      case machines::Status::failed:
        ++failed_;
        ended = co_await store_.fail_work(order_.pool, item.id, name_, json_text_of(outcome.error));
        break;
      case machines::Status::waiting: ++waiting_; break;
      case machines::Status::interrupted: break;
      case machines::Status::lost:
        if (outcome.trouble.code != ErrorCode::conflict) ended = std::unexpected(outcome.trouble);
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
      json::Writer writer;
      writer.begin_object()
          .member("pool", order_.pool)
          .member("completed", completed_)
          .member("failed", failed_)
          .member("waiting", waiting_);
      print_document(writer.end_object().take() + "\n");
    } else {
      print("{}: {} completed, {} failed, {} waiting\n", harmless(order_.pool), completed_, failed_,
            waiting_);
    }
  }

  MachineStage& stage_;
  store::MachineStore& store_;
  const Order& order_;
  const std::string name_ = store::new_owner();
  std::int64_t completed_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t waiting_ = 0;
};

int work(const MachineServices& services, const Arguments& arguments) {
  if (arguments.positionals.size() != 1) return wrong_usage(kWork, "name one machine file");
  const std::string& path = arguments.positionals.front();
  Order order{.pool = arguments.get("--pool"), .is_json = wants_json(arguments)};
  if (!is_pool_name(order.pool)) {
    return wrong_usage(kWork, "name the pool: --pool NAME, as for `treaty machine pool push`");
  }
  const auto most = read_count(arguments, "--max", 1, order.most);
  if (!most) return wrong_usage(kWork, most.error());
  order.most = *most;
  auto script = read_script_option(kWork, arguments);
  if (!script) return script.error();
  auto file = read_machine_file(path, known_hooks(*script));
  if (!file) {
    print_error("treaty {}: {}: {}\n", kWork, harmless(path), harmless(file.error().message));
    return kUnavailable;
  }
  if (!file->loaded.machine) {
    return refuse_machine(kWork, path, std::move(file->loaded), order.is_json);
  }
  order.machine = file->loaded.machine;
  const auto store = open_to_look(kWork, services, arguments, store::Purpose::run);
  if (!store) return store.error();
  return drive_on_stage({.command = kWork,
                         .services = services,
                         .arguments = arguments,
                         .store = *store,
                         .script = std::move(*script)},
                        [&](MachineStage& stage) -> asio::awaitable<int> {
                          Worker worker(stage, store->machines(), order);
                          co_return co_await worker.run();
                        });
}

}  // namespace

Command command(const MachineServices& services) {
  return {
      .name = "work",
      .positionals = "FILE",
      .summary = "Run a machine for each item of a pool, beside other processes",
      .description =
          R"(Takes items one by one until none is pending. An item is the machine's input; one that
is no object comes as `input.item`. The execution is named after the pool and the item:
what a killed worker has begun is gone on with. JSON is a line for each item, then the
sum. Exit: 0 done, 1 an item failed, 2 refused or wrong usage, 3 a machine waits for a
signal, 75 interrupted, 69 no store or none that can be used, 78 a configuration that
is not in order.)",
      .options = joined({{
                             {"--pool", "NAME", "Whose items"},
                             {"--max", "N", "At most so many items"},
                         },
                         driving_options(Steps::unlimited)}),
      .examples = {{"machine work letter.yml --pool letters", "Until the pool is empty"},
                   {"machine work letter.yml --pool letters --max 10 --format json",
                    "Ten items, for a program"}},
      .run = [services](const Arguments& arguments) { return work(services, arguments); },
  };
}

}  // namespace treaty::cli::machine_work
