// Leases: released on every exit, renewed while an execution runs, and nothing written once lost.
#include "treaty/machines/run/lease_guard.h"

#include <doctest/doctest.h>

#include <functional>
#include <optional>

#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/machines/load.h"
#include "treaty/machines/run/runner.h"
#include "treaty/machines/script/simulation.h"
#include "treaty/store/leases.h"
#include "treaty/testing/stores/awaiting.h"
#include "treaty/testing/stores/failing_machine_store.h"

namespace treaty::machines {
namespace {

namespace asio = boost::asio;
using Seconds = std::vector<double>;

// Time passes when somebody waits, until a moment at which every wait is cancelled.
class SteppedTimeline final : public Timeline {
 public:
  double end = 1000;
  Seconds waits{};
  bool renews_first = false;  // Renewals run before the execution, not beside it.

  double now() const override { return now_; }
  double unix_now() const override { return now_; }
  double chance() override { return 0; }
  asio::awaitable<bool> wait(double seconds) override {
    if (now_ + seconds > end) co_return false;
    waits.push_back(seconds);
    now_ += seconds;
    co_return true;
  }
  asio::awaitable<bool> within(double, Job job) override {
    co_await job();
    co_return true;
  }
  asio::awaitable<void> together(std::vector<Job> jobs, std::size_t,
                                 std::function<bool()>) override {
    for (const Job& job : jobs) co_await job();
  }
  asio::awaitable<void> alongside(Job job, Job other) override {
    if (renews_first) co_await other();
    co_await job();
  }
  asio::awaitable<void> beside(Job job) override { co_await job(); }

 private:
  double now_ = 0;
};

struct Leased {
  asio::io_context loop{1};
  testing::FailingMachineStore store{};
  SteppedTimeline timeline{};

  LeaseGuard acquire() {
    std::optional<LeaseGuard> lease;
    testing::await(loop, [](Leased& here, std::optional<LeaseGuard>& out) -> asio::awaitable<bool> {
      auto acquired = co_await LeaseGuard::acquire(here.store, here.timeline, "x");
      if (acquired) out.emplace(std::move(*acquired));
      co_return out.has_value();
    }(*this, lease));
    REQUIRE(lease);
    return std::move(*lease);
  }
  void renew(LeaseGuard& lease) {
    testing::await(loop, [](LeaseGuard& guard) -> asio::awaitable<bool> {
      co_await guard.keep_renewed();
      co_return true;
    }(lease));
  }
  bool is_free() {  // As anybody else finds it.
    loop.restart();
    loop.run();
    const auto lease = testing::await(loop, store.real().acquire("x"));
    return lease.has_value();
  }
};

TEST_CASE("A lease guard that is destroyed releases its lease") {
  Leased leased;
  {
    const LeaseGuard lease = leased.acquire();
  }

  CHECK(leased.is_free());
}

TEST_CASE("A lease guard that was moved from releases nothing") {
  Leased leased;
  LeaseGuard first = leased.acquire();
  const LeaseGuard second = std::move(first);

  CHECK_FALSE(leased.is_free());
  CHECK(leased.store.calls["release"] == 0);
}

TEST_CASE("A lease that a write has released is not released again") {
  Leased leased;
  {
    LeaseGuard lease = leased.acquire();
    lease.mark_released();
  }

  CHECK_FALSE(leased.is_free());
}

TEST_CASE("A lease is renewed every 100 s of its 300") {
  Leased leased;
  leased.timeline.end = 350;
  LeaseGuard lease = leased.acquire();

  leased.renew(lease);

  CHECK(store::lease_end(0) == kLeaseTerm);
  CHECK(leased.timeline.waits == Seconds{100, 100, 100});
  CHECK(leased.store.calls["renew"] == 3);
  CHECK(lease.check());
}

TEST_CASE("A renewal that fails is tried again, with growing pauses, until the store recovers") {
  Leased leased;
  leased.timeline.end = 250;
  leased.store.failures["renew"] = 6;
  LeaseGuard lease = leased.acquire();

  leased.renew(lease);

  CHECK(leased.timeline.waits == Seconds{100, 1, 2, 4, 8, 16, 30});
  CHECK(lease.check());
}

TEST_CASE("A lease that cannot be renewed is lost when it expires, and not before") {
  Leased leased;
  leased.store.failures["renew"] = 1000;
  LeaseGuard lease = leased.acquire();

  SUBCASE("Shortly before") {
    leased.timeline.end = 299;
    leased.renew(lease);
    CHECK_FALSE(lease.is_lost());
  }
  SUBCASE("Then") {
    leased.renew(lease);
    CHECK(leased.timeline.now() == kLeaseTerm);
    REQUIRE_FALSE(lease.check());
    CHECK(lease.check().error().code == ErrorCode::conflict);
  }
}

TEST_CASE("A lease that somebody else has taken is lost at the next renewal, and never released") {
  Leased leased;
  LeaseGuard lease = leased.acquire();
  REQUIRE(testing::await(leased.loop, leased.store.real().release("x", lease.token())));
  REQUIRE(testing::await(leased.loop, leased.store.real().acquire("x")));

  leased.renew(lease);

  CHECK(leased.timeline.waits == Seconds{100});
  CHECK(lease.is_lost());
  {
    const LeaseGuard gone = std::move(lease);
  }
  leased.loop.restart();
  leased.loop.run();
  CHECK(leased.store.calls["release"] == 0);
}

// --- Exits of the runner

struct Runner : Leased {
  Simulation simulation{*read_script(R"({"agents": {"a": ["hi"]}})"), 0};
  HookRegistry hooks = built_in_hooks({});

  World world() {
    return {.agents = simulation,
            .tools = simulation,
            .timeline = timeline,
            .store = store,
            .hooks = hooks,
            .open_machine = {}};
  }
  static std::shared_ptr<const Machine> machine(std::string_view data) {
    const Loaded loaded =
        load_machine("spec: flatmachine\nspec_version: \"4.2.1\"\ndata:\n" + std::string(data), {});
    REQUIRE(loaded.machine);
    return loaded.machine;
  }
  std::shared_ptr<const Machine> asking = machine(R"(
  agents: {a: ./a.yml}
  states:
    ask: {agent: a, transitions: [{to: done}]}
    done: {type: final}
)");

  Outcome run(bool may_resume = false) {
    return testing::await(loop, may_resume ? run_or_resume(world(), asking, {.execution = "x"})
                                           : run_machine(world(), asking, {.execution = "x"}));
  }
  std::expected<Outcome, Error> resume() {
    return testing::await(
        loop, resume_execution(world(), "x", [this](const std::string&, const std::string&) {
          using Read = std::expected<std::shared_ptr<const Machine>, std::string>;
          return asking ? Read(asking) : Read(std::unexpect, "no machine");
        }));
  }
  // An execution that is there, and whose snapshot or journal nobody can read.
  void damage(std::string snapshot, std::string line) {
    store::MachineWrite write{.execution = "x", .machine = "m"};
    write.token = testing::await(loop, store.real().acquire("x"))->token;
    write.checkpoints.push_back({.event = "machine_start", .snapshot = std::move(snapshot)});
    write.journal.push_back(std::move(line));
    write.releases = true;
    REQUIRE(testing::await(loop, store.real().write(std::move(write))));
  }
};

constexpr const char* kSnapshot =
    R"({"event": "machine_start", "current_state": "start", "step": 0, "context": {}})";

TEST_CASE("An execution that ends, by itself or not, leaves no lease") {
  Runner runner;

  SUBCASE("It completes") { CHECK(runner.run().status == Status::completed); }
  SUBCASE("It fails") {
    runner.simulation.go_on_after({{"agent:a", 1}});  // The script has no second answer.
    CHECK(runner.run().status == Status::failed);
  }
  SUBCASE("The store fails once in its midst") {
    runner.store.failures["write"] = 1;
    CHECK(runner.run().status == Status::lost);
  }
  SUBCASE("The store fails twice, at the release as well") {
    runner.store.failures["write"] = 2;
    CHECK(runner.run().status == Status::lost);
  }
  CHECK(runner.is_free());
}

TEST_CASE("A run that does not come to begin leaves no lease") {
  Runner runner;

  SUBCASE("The store cannot say what is there") {
    runner.store.failures["find_execution"] = 1;
    CHECK(runner.run().status == Status::lost);
  }
  SUBCASE("There is one of that name") {
    runner.damage(kSnapshot, "{}");
    CHECK(runner.run().trouble.code == ErrorCode::conflict);
  }
  SUBCASE("Its snapshot cannot be read") {
    runner.damage("nonsense", "{}");
    CHECK(runner.run(true).trouble.code == ErrorCode::corrupt);
  }
  SUBCASE("Its journal cannot be read") {
    runner.damage(kSnapshot, "nonsense");
    CHECK(runner.run(true).trouble.code == ErrorCode::corrupt);
  }
  CHECK(runner.is_free());
}

TEST_CASE("A resumption that does not come to begin leaves no lease") {
  Runner runner;

  SUBCASE("The store cannot say what is there") {
    runner.damage(kSnapshot, "{}");
    runner.store.fail_after["find_execution"] = 1;
    CHECK(runner.resume().error().code == ErrorCode::unavailable);
  }
  SUBCASE("It has gone in between") {
    runner.damage(kSnapshot, "{}");
    runner.store.fail_after["find_execution: gone"] = 1;
    CHECK(runner.resume().error().code == ErrorCode::not_a_document);
  }
  SUBCASE("Its machine cannot be read") {
    REQUIRE(runner.run().status == Status::completed);
    runner.asking = nullptr;
    CHECK(runner.resume().error().code == ErrorCode::not_a_document);
  }
  SUBCASE("Its snapshot cannot be read") {
    runner.damage("nonsense", "{}");
    CHECK(runner.resume().error().code == ErrorCode::corrupt);
  }
  SUBCASE("Its journal cannot be read") {
    runner.damage(kSnapshot, "nonsense");
    CHECK(runner.resume().error().code == ErrorCode::corrupt);
  }
  CHECK(runner.is_free());
}

TEST_CASE("A signal that an execution without persistence cannot take leaves no lease") {
  Runner runner;
  runner.asking = Runner::machine(R"(
  persistence: {enabled: false}
  states:
    wait: {wait_for: go, transitions: [{to: done}]}
    done: {type: final}
)");
  runner.store.failures["take_signal"] = 1;

  CHECK(runner.run().status == Status::lost);
  CHECK(runner.is_free());
}

TEST_CASE("An execution whose lease is lost writes nothing more") {
  Runner runner;
  runner.timeline.renews_first = true;
  runner.store.failures["renew"] = 1000;

  const Outcome outcome = runner.run();

  CHECK(outcome.status == Status::lost);
  CHECK(outcome.trouble.code == ErrorCode::conflict);
  CHECK(runner.store.calls["write"] == 0);
}

}  // namespace
}  // namespace treaty::machines
