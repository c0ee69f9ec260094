// Places where machines keep things, for tests that hold for all of them: a database, a directory,
// memory; each with a clock that the test moves.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "treaty/store/directory/directory_store.h"
#include "treaty/store/memory/memory_machines.h"
#include "treaty/testing/simulation/fake_clock.h"
#include "treaty/testing/stores/store_room.h"

namespace treaty::testing {

struct PlaceClock {
  store::Milliseconds now = 1'800'000'000'000;
  void pass(store::Milliseconds seconds) { now += seconds * 1'000; }
};

// A store that is open.
class OpenMachines {
 public:
  explicit OpenMachines(std::unique_ptr<store::Store> store) : store_(std::move(store)) {
    if (store_) machines_ = &store_->machines();
  }
  explicit OpenMachines(std::unique_ptr<store::MachineStore> machines)
      : own_(std::move(machines)), machines_(own_.get()) {}

  bool is_open() const { return machines_ != nullptr; }
  store::MachineStore* operator->() const { return machines_; }
  store::MachineStore& operator*() const { return *machines_; }

 private:
  std::unique_ptr<store::Store> store_{};
  std::unique_ptr<store::MachineStore> own_{};
  store::MachineStore* machines_ = nullptr;
};

class SqlitePlace : public PlaceClock {
 public:
  OpenMachines open(store::Purpose purpose = store::Purpose::run) {
    return OpenMachines(open_store(
        path(), {.purpose = purpose, .clock = testing::wall_clock([this] { return now; })}));
  }
  std::string path() const { return directory_.path() + "/treaty.db"; }

 private:
  TemporaryDirectory directory_{quick_place()};
};

class DirectoryPlace : public PlaceClock {
 public:
  OpenMachines open(store::Purpose purpose = store::Purpose::run) {
    auto opened = store::open_directory_store(
        path(), {.purpose = purpose, .clock = testing::wall_clock([this] { return now; })});
    return OpenMachines(opened ? *std::move(opened) : nullptr);
  }
  std::string path() const { return directory_.path() + "/store"; }

 private:
  TemporaryDirectory directory_{quick_place()};
};

class MemoryPlace : public PlaceClock {
 public:
  OpenMachines open() {
    return OpenMachines(store::open_memory_machines(testing::wall_clock([this] { return now; })));
  }
};

// A checkpoint whose snapshot tells what the runner would have put into it.
inline store::Checkpoint checkpoint_of(std::int64_t step, const std::string& event,
                                       const std::string& state = "work",
                                       const std::string& channel = "") {
  std::string snapshot = fmt::format(
      R"({{"machine_name":"m","current_state":"{}","step":{},"event":"{}","waiting_channel":{}}})",
      state, step, event, channel.empty() ? "null" : '"' + channel + '"');
  return {.event = event,
          .step = step,
          .state = state,
          .channel = channel,
          .snapshot = std::move(snapshot)};
}

inline store::MachineWrite write_of(const std::string& execution, std::int64_t token,
                                    std::vector<store::Checkpoint> checkpoints,
                                    std::vector<std::string> journal = {}) {
  return {.execution = execution,
          .token = token,
          .machine = "m",
          .checkpoints = std::move(checkpoints),
          .journal = std::move(journal)};
}

// The token of a lease that must be there for the asking; else 0.
inline std::int64_t lease_of(store::MachineStore& machines, const std::string& execution) {
  const auto lease = wait_for(machines.acquire(execution));
  return lease ? lease->token : 0;
}

// An execution with one checkpoint, which nobody runs.
inline bool leave_execution(store::MachineStore& machines, const std::string& execution,
                            const store::Checkpoint& checkpoint) {
  auto write = write_of(execution, lease_of(machines, execution), {checkpoint});
  write.releases = true;
  return wait_for(machines.write(std::move(write))).has_value();
}

inline bool leave_waiting(store::MachineStore& machines, const std::string& execution,
                          const std::string& channel) {
  return leave_execution(machines, execution, checkpoint_of(1, "waiting", "wait", channel));
}

// What `execution` takes from the channel; "-" when there is nothing, "!" when that fails.
inline std::string take(store::MachineStore& machines, const std::string& execution,
                        const std::string& channel) {
  const std::int64_t token = lease_of(machines, execution);
  auto waiting = write_of(execution, token, {checkpoint_of(1, "waiting", "wait", channel)});
  waiting.releases = true;
  const auto data = wait_for(machines.take_signal(
      channel,
      [&](const std::string& taken) {
        auto write = write_of(execution, token, {checkpoint_of(1, "state_exit", "wait")}, {taken});
        write.releases = true;
        return write;
      },
      waiting));
  return data ? data->value_or("-") : "!";
}

}  // namespace treaty::testing
