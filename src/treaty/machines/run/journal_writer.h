// Writes what an execution does: checkpoints and lines of its journal. They are buffered until
// something is about to happen outside of the machine, and then written in one commit.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "treaty/machines/run/lease_guard.h"
#include "treaty/machines/run/world.h"
#include "treaty/store/machines.h"

namespace treaty::machines {

// Writes under a lease, and nothing once that is lost. Belongs to one event loop.
class JournalWriter {
 public:
  // `events`: the checkpoints that are kept; absent: all. The lease outlives the writer.
  JournalWriter(store::MachineStore& store, LeaseGuard& lease, std::string machine,
                std::int64_t session, std::optional<std::set<std::string>> events,
                AfterWrite after_write)
      : store_(store),
        lease_(&lease),
        machine_(std::move(machine)),
        session_(session),
        events_(std::move(events)),
        after_write_(std::move(after_write)) {}

  // Writes nothing: for machines without persistence.
  explicit JournalWriter(store::MachineStore& store) : store_(store) {}

  bool is_kept() const { return lease_ != nullptr; }
  bool keeps(std::string_view event) const;
  bool has_news() const { return !pending_.checkpoints.empty() || !pending_.journal.empty(); }

  using Written = boost::asio::awaitable<std::expected<void, Error>>;

  // Buffered until flush().
  Written add(store::Checkpoint checkpoint);
  Written add_line(std::string_view event, std::int64_t step, std::string line);
  // The same for a line that is no event of its own.
  void gather(std::string line) {
    if (is_kept()) pending_.journal.push_back(std::move(line));
  }
  Written flush();
  Written release();  // Flushes, and releases the lease in the same commit.

  // The buffer, to become part of another commit.
  store::MachineWrite take();

  // `conflict` once the lease is lost.
  std::expected<void, Error> check_lease() const;

  store::MachineStore& store() const { return store_; }

 private:
  Written write(store::MachineWrite write);
  Written flush_event(std::string_view event, std::int64_t step);

  store::MachineStore& store_;
  LeaseGuard* lease_ = nullptr;  // Null: nothing is written.
  std::string machine_{};
  std::int64_t session_ = 0;
  std::optional<std::set<std::string>> events_{};
  AfterWrite after_write_{};
  store::MachineWrite pending_{};
};

}  // namespace treaty::machines
