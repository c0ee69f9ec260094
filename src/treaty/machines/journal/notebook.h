// What an execution has done, on its way to the disk: checkpoints and lines of the journal gather
// until something is about to happen outside of the machine, and go in one commit.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/store/machines.h"

namespace treaty::machines {

// Told right after an event is durable; for tests that end the process there. Whoever has one makes
// every event a commit of its own.
using AfterWrite = std::function<void(std::string_view event, std::int64_t step)>;

class Notebook {
 public:
  struct Owner {
    std::string execution{};
    std::string machine{};
    std::int64_t token = 0;
  };

  // `events`: which checkpoints are kept; absent: all.
  Notebook(store::MachineStore& store, Owner owner, std::optional<std::set<std::string>> events,
           AfterWrite after_write);

  // One that writes nothing, for machines without persistence.
  Notebook(store::MachineStore& store, std::string execution)
      : store_(store), owner_{.execution = std::move(execution)} {}

  bool is_kept() const { return is_kept_; }
  bool keeps(std::string_view event) const;
  bool has_news() const { return !pending_.checkpoints.empty() || !pending_.journal.empty(); }

  // Is to be on the disk before anything happens outside.
  boost::asio::awaitable<std::expected<void, Error>> add(store::Checkpoint checkpoint);
  boost::asio::awaitable<std::expected<void, Error>> add_line(std::string_view event,
                                                              std::int64_t step, std::string line);
  // Goes with whatever is written next.
  void gather(std::string line) {
    if (is_kept_) pending_.journal.push_back(std::move(line));
  }
  boost::asio::awaitable<std::expected<void, Error>> flush();
  boost::asio::awaitable<std::expected<void, Error>> release();

  // Everything that waits, to become part of another commit.
  store::MachineWrite take();

  store::MachineStore& store() const { return store_; }

 private:
  store::MachineStore& store_;
  bool is_kept_ = false;
  std::optional<std::set<std::string>> events_{};
  AfterWrite after_write_{};
  Owner owner_{};
  store::MachineWrite pending_{};
};

}  // namespace treaty::machines
