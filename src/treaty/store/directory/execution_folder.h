// One execution in a folder of its own, as FlatMachines lays it out on a disk:
//
//   step_000001_state_enter.json …   snapshots
//   latest                           the key of the latest one; its age is that of the execution
//   journal                          lines of JSON
//   lease                            who runs it
//   commit                           what a crash has interrupted after it was decided
//
// Whoever writes holds the lock of the store. A write goes to the journal first, then to the
// snapshots, then to `latest`, each on the disk before the next: wherever a crash cuts it, what
// `latest` names is whole, and its journal is there.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/store/directory/files.h"
#include "treaty/store/leases.h"
#include "treaty/store/machines.h"

namespace treaty::store::directory {

constexpr std::string_view kDamaged = "damaged";

class ExecutionFolder {
 public:
  ExecutionFolder(const std::string& store, std::string execution);

  // Nothing when it has no checkpoint. `corrupt` when a file is not what it was written as; its row
  // then has the event kDamaged.
  std::expected<std::optional<ExecutionRecord>, Error> read() const;
  std::expected<std::optional<ExecutionRow>, Error> row(Milliseconds now) const;

  // The channel of the latest checkpoint, if that waits.
  std::expected<std::optional<std::string>, Error> waits_on() const;

  std::expected<std::optional<LeaseRecord>, Error> lease() const;
  std::expected<void, Error> save_lease(const LeaseRecord& lease, Milliseconds now);

  std::expected<void, Error> write(const MachineWrite& write, Milliseconds now);

  // The same, and a file of the store is gone afterwards: a crash leaves both to be done or
  // neither.
  std::expected<void, Error> write_and_remove(const MachineWrite& write, const std::string& name,
                                              Milliseconds now);

  // Does what a crash has left to be done. Before anything else is written.
  std::expected<void, Error> recover(Milliseconds now);

  const std::string& path() const { return path_; }

 private:
  struct Latest {
    KeyParts parts{};
    std::string snapshot{};
  };
  std::expected<std::optional<Latest>, Error> latest() const;

  // All of a write that can fail for want of space, before anything takes its place.
  struct Prepared {
    std::vector<TemporaryFile> snapshots{};
    std::optional<TemporaryFile> latest{};
    bool releases = false;
  };
  std::expected<Prepared, Error> prepare(const MachineWrite& write, Milliseconds now);
  std::expected<void, Error> write_files(const MachineWrite& write, Milliseconds now,
                                         Prepared& prepared) const;
  std::expected<void, Error> finish(Prepared& prepared, Milliseconds now);
  std::expected<void, Error> release(Milliseconds now);
  std::expected<void, Error> end_commit(const std::string& name);
  std::string file(std::string_view name) const;
  bool tell_age(ExecutionRow& row) const;  // False when there is none to tell.

  std::string store_;
  std::string path_;
  std::string execution_;
};

}  // namespace treaty::store::directory
