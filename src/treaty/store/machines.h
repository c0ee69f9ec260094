// What machines keep: checkpoints, the journal of an execution, leases, signals and work. One
// interface, whether a database, a directory or memory keeps it. See journal.h for threads and
// errors.
//
// What is answered is on the disk (memory aside). A write that fails leaves nothing of itself.
// After a crash in the midst of one a database has all of it or nothing; a directory may have lines
// of its journal whose checkpoints are not there, never the other way round: of lines that tell of
// the same thing the last one counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/store/records.h"
#include "treaty/store/task.h"

namespace treaty::store {

// Ids come from users and become names of files: 1 to 200 bytes of UTF-8 without control characters
// and `/`, not beginning with a dot. Everything that names another one is refused (`wrong_usage`).
bool is_execution_id(std::string_view text);

constexpr std::string_view kWaiting = "waiting";  // The event of an execution that waits.

// Channels on which nothing is sent: whoever asked runs tools, and comes back with their results or
// not at all.
constexpr std::string_view kToolChannels = "tools/";

// A snapshot under the key `{execution}/step_{step:06}_{event}.json`.
struct Checkpoint {
  std::string event;  // "state_enter".
  std::int64_t step = 0;
  std::string state{};
  std::string channel{};   // That it waits on.
  std::string snapshot{};  // JSON.
};

// One durable commit of an execution: all of it or nothing.
struct MachineWrite {
  std::string execution{};
  std::int64_t token = 0;                 // `conflict` unless that lease is held.
  std::string machine{};                  // Its name.
  std::int64_t session = 0;               // Of the turn that it runs for, in the journal; 0: none.
  std::vector<Checkpoint> checkpoints{};  // The last one becomes `latest`.
  std::vector<std::string> journal{};     // Lines of JSON without line breaks, appended.
  bool releases = false;                  // The lease, too.
};

struct Lease {
  std::int64_t token = 0;
};

// Everything from which an execution goes on. Snapshot and journal as they were written.
struct ExecutionRecord {
  std::string execution{};
  std::string latest_event{};
  std::int64_t latest_step = 0;
  std::string snapshot{};
  std::vector<std::string> journal{};
};

// A line of `machine list`.
struct ExecutionRow {
  std::string execution{};
  std::string machine{};
  std::string event{};  // Of the latest checkpoint.
  std::string state{};
  std::string channel{};  // Empty: it does not wait.
  std::int64_t step = 0;
  std::string updated_at{};  // RFC 3339.
  bool is_leased = false;    // By a living owner.
  std::string owner{};       // Of the lease, for people.
};

// An execution that runs for a turn of that session.
struct SessionExecution {
  std::string execution{};
  std::int64_t session = 0;
};

struct PruneQuery {
  std::optional<Milliseconds> before{};  // Written last before that.
  std::optional<std::size_t> keep{};     // Then the newest so many stay.
  bool only_count = false;               // Say what would go.
};

struct WorkItem {
  std::string id{};
  std::string data{};  // JSON.
  int attempts = 0;    // This one included.
};

// What became of the items of workers that are gone.
struct ReleasedWork {
  std::int64_t pending = 0;  // So many are tried again.
  struct Poisoned {
    std::string id{};
    int attempts = 0;
    bool operator==(const Poisoned&) const = default;
  };
  std::vector<Poisoned> poisoned{};
};

struct WorkCounts {
  std::int64_t pending = 0;
  std::int64_t claimed = 0;
  std::int64_t completed = 0;
  std::int64_t poisoned = 0;
};

class MachineStore {
 public:
  virtual ~MachineStore() = default;

  // For 300 s. `conflict`, with the owner in the message, while a living one has it, be it of this
  // process; an owner of this host whose process is gone has lost it. The token is one more than
  // any before, also after a release. A lease that has run out is held until somebody else takes
  // it.
  virtual Task<Lease> acquire(std::string execution) = 0;
  virtual Task<void> renew(std::string execution, std::int64_t token) = 0;
  virtual Task<void> release(std::string execution, std::int64_t token) = 0;

  // `conflict` also when the session that it runs for was deleted.
  virtual Task<void> write(MachineWrite write) = 0;

  // Takes the oldest signal for the execution of `waiting` on that channel, and applies what
  // `taken` answers for it; when there is none, `waiting`. Either is one commit, also after a
  // crash. Answers the signal's data. `taken` may be called more than once and on another thread;
  // the last counts.
  using Taken = std::function<MachineWrite(const std::string& data)>;
  virtual Task<std::optional<std::string>> take_signal(std::string channel, Taken taken,
                                                       MachineWrite waiting) = 0;

  // A copy for each execution that waits on the channel; kept for the next one when none does.
  // Answers who waits.
  virtual Task<std::vector<std::string>> send_signal(std::string channel, std::string data) = 0;

  // Nothing when it is not known.
  virtual Task<std::optional<ExecutionRecord>> find_execution(std::string execution) = 0;

  virtual Task<std::vector<ExecutionRow>> list_executions() = 0;  // Newest first.

  // Executions of sessions that have neither ended nor wait, and that no living owner has: whoever
  // ran them is gone. A directory has no sessions, and so none of them.
  virtual Task<std::vector<SessionExecution>> list_abandoned() {
    co_return std::vector<SessionExecution>();
  }

  // Whole executions, never leased or waiting ones, nor what those that may go on have started:
  // their checkpoints, journals, leases, and signals that were theirs alone. Answers which. Without
  // `before` and `keep`: none.
  virtual Task<std::vector<std::string>> prune_executions(PruneQuery query) = 0;

  // --- Work pools. The name of a worker begins with process_name(), in leases.h.

  // Answers their ids. An item that fails, or whose worker is gone, is tried again until it was
  // claimed `max_retries` times; then it is poisoned.
  virtual Task<std::vector<std::string>> push_work(std::string pool, std::vector<std::string> items,
                                                   int max_retries) = 0;
  // The oldest pending item, for this worker alone.
  virtual Task<std::optional<WorkItem>> claim_work(std::string pool, std::string worker) = 0;
  // `conflict` when that worker does not have it (any more).
  virtual Task<void> complete_work(std::string pool, std::string item, std::string worker,
                                   std::string result) = 0;
  virtual Task<void> fail_work(std::string pool, std::string item, std::string worker,
                               std::string error) = 0;
  // The claim does not count as an attempt: the item waits, or its worker stops in good order. The
  // worker keeps it.
  virtual Task<void> excuse_work(std::string pool, std::string item, std::string worker) = 0;
  virtual Task<void> heartbeat(std::string pool, std::string worker) = 0;  // Every 30 s.
  // Items of workers that missed two heartbeats, or whose process is gone, are pending again,
  // unless they were claimed `max_retries` times: those are poisoned.
  virtual Task<ReleasedWork> release_stale_work(std::string pool) = 0;
  virtual Task<WorkCounts> count_work(std::string pool) = 0;
};

// --- For those who implement it

// Whether an execution whose newest checkpoint has this event has ended, or waits.
bool rests(std::string_view event);

std::string checkpoint_key(std::string_view execution, const Checkpoint& checkpoint);

// The parts of a key; nothing when it is none.
struct KeyParts {
  std::int64_t step = 0;
  std::string event{};
};
std::optional<KeyParts> read_checkpoint_key(std::string_view key);

std::expected<void, Error> check_execution_id(std::string_view text);
std::expected<void, Error> check_write(const MachineWrite& write);

Error session_is_deleted();

// By the time of their last write, then by their ids.
void sort_newest_first(std::vector<ExecutionRow>& rows);

// Of all executions, newest first, those that a query deletes.
std::vector<ExecutionRow> executions_to_prune(const std::vector<ExecutionRow>& rows,
                                              const PruneQuery& query);

}  // namespace treaty::store
