#include "treaty/store/directory/execution_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/store/directory/files.h"

namespace treaty::store::directory {
namespace {

// Snapshots are as large and as deep as machines make them; we have written them ourselves.
constexpr json::ReadOptions kAnySize{.max_size = std::numeric_limits<std::uint32_t>::max(),
                                     .max_depth = 1'000'000,
                                     .max_faults = 1,
                                     .grammar_only = true};

Error damaged(const std::string& path) {
  return {.code = ErrorCode::corrupt,
          .message =
              "a file of the store is damaged; restore it from a copy, or remove the folder "
              "of this execution",
          .where = path};
}

template <class T>
bool is_damage(const std::expected<T, Error>& answer) {
  return !answer && answer.error().code == ErrorCode::corrupt;
}

std::int64_t integer_of(std::optional<json::Value> object, std::string_view name) {
  return json::find_integer(object, name).value_or(0);
}

std::string encode(const LeaseRecord& lease, Milliseconds now) {
  json::Writer writer;
  writer.begin_object()
      .member("owner_id", lease.owner)
      .member("lease_until", lease.until)
      .member("fencing_token", lease.token)
      .member("updated_at", timestamp_of(now))
      .end_object();
  return writer.take();
}

// A write that is decided, with the file that goes with it and the size that the journal had.
struct Commit {
  MachineWrite write{};
  std::string removed{};
  std::uint64_t journal_size = 0;
};

std::string encode(const Commit& commit) {
  json::Writer writer;
  writer.begin_object()
      .member("removed", commit.removed)
      .member("journal_size", commit.journal_size)
      .member("releases", commit.write.releases);
  writer.name("checkpoints").objects(commit.write.checkpoints, [&](const Checkpoint& checkpoint) {
    writer.member("event", checkpoint.event).member("step", checkpoint.step);
    writer.member("snapshot", checkpoint.snapshot);
  });
  return writer.member("journal", commit.write.journal).end_object().take();
}

std::optional<Commit> decode_commit(const std::string& bytes) {
  const json::Document document(bytes, kAnySize);
  const auto root = document.root();
  const auto checkpoints = json::find_member(root, "checkpoints");
  const auto journal = json::find_member(root, "journal");
  if (!checkpoints || !checkpoints->is_array() || !journal || !journal->is_array()) {
    return std::nullopt;
  }
  Commit commit;
  commit.removed = json::find_text(root, "removed");
  commit.journal_size = static_cast<std::uint64_t>(integer_of(root, "journal_size"));
  commit.write.releases = json::is_true(json::find_member(root, "releases"));
  for (const json::Value one : checkpoints->elements()) {
    Checkpoint checkpoint;
    checkpoint.event = json::find_text(one, "event");
    checkpoint.step = integer_of(one, "step");
    checkpoint.snapshot = json::find_text(one, "snapshot");
    commit.write.checkpoints.push_back(std::move(checkpoint));
  }
  for (const json::Value line : journal->elements()) {
    commit.write.journal.emplace_back(json::text_of(line));
  }
  return commit;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all.append(line).push_back('\n');
  return all;
}

}  // namespace

ExecutionFolder::ExecutionFolder(const std::string& store, std::string execution)
    : store_(store),
      path_(fmt::format("{}/{}", store, execution)),
      execution_(std::move(execution)) {}

std::string ExecutionFolder::file(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

std::expected<std::optional<ExecutionFolder::Latest>, Error> ExecutionFolder::latest() const {
  TREATY_TRY(auto key, load_file(file("latest")));
  if (!key) return std::nullopt;
  const auto parts = read_checkpoint_key(*key);
  // The pointer never leads out of its folder.
  if (!parts || *key != checkpoint_key(execution_, {.event = parts->event, .step = parts->step}) ||
      parts->event.find('/') != std::string::npos) {
    return std::unexpected(damaged(file("latest")));
  }
  TREATY_TRY(auto snapshot, load_file(file(std::string_view(*key).substr(execution_.size() + 1))));
  if (!snapshot) return std::unexpected(damaged(file("latest")));
  return Latest{.parts = *parts, .snapshot = *std::move(snapshot)};
}

std::expected<std::optional<ExecutionRecord>, Error> ExecutionFolder::read() const {
  TREATY_TRY(auto found, latest());
  if (!found) return std::nullopt;
  // After `latest`: what that names has its lines.
  TREATY_TRY(LogLines log, read_lines(file("journal")));
  return ExecutionRecord{.execution = execution_,
                         .latest_event = std::move(found->parts.event),
                         .latest_step = found->parts.step,
                         .snapshot = std::move(found->snapshot),
                         .journal = std::move(log.lines)};
}

std::expected<std::optional<ExecutionRow>, Error> ExecutionFolder::row(Milliseconds now) const {
  ExecutionRow row{.execution = execution_};
  if (!tell_age(row)) return std::nullopt;
  const auto found = latest();
  const auto owner = lease();
  if (is_damage(found) || is_damage(owner)) {
    row.event = kDamaged;
    return row;
  }
  if (!found) return std::unexpected(found.error());
  if (!owner) return std::unexpected(owner.error());
  if (!*found) return std::nullopt;
  const json::Document document((*found)->snapshot, kAnySize);
  const auto root = document.root();
  row.machine = json::find_text(root, "machine_name");
  row.event = (*found)->parts.event;
  row.state = json::find_text(root, "current_state");
  row.channel = json::find_text(root, "waiting_channel");
  row.step = (*found)->parts.step;
  row.is_leased = *owner && is_held(**owner, now);
  if (row.is_leased) row.owner = (*owner)->owner;
  return row;
}

bool ExecutionFolder::tell_age(ExecutionRow& row) const {
  constexpr Milliseconds kSecond = 1'000;
  constexpr long kNanoseconds = 1'000'000;
  struct stat status{};
  if (::stat(file("latest").c_str(), &status) != 0) return false;
  row.updated_at =
      timestamp_of(status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec / kNanoseconds);
  return true;
}

std::expected<std::optional<std::string>, Error> ExecutionFolder::waits_on() const {
  TREATY_TRY(const auto key, load_file(file("latest")));
  if (!key || !key->ends_with("_waiting.json")) return std::nullopt;
  const auto found = latest();
  if (is_damage(found)) return std::nullopt;
  if (!found) return std::unexpected(found.error());
  if (!*found || (*found)->parts.event != kWaiting) return std::nullopt;
  const json::Document document((*found)->snapshot, kAnySize);
  return std::string(json::find_text(document.root(), "waiting_channel"));
}

std::expected<std::optional<LeaseRecord>, Error> ExecutionFolder::lease() const {
  TREATY_TRY(const auto bytes, load_file(file("lease")));
  if (!bytes) return std::nullopt;
  const json::Document document(*bytes);
  const auto root = document.root();
  if (!root || !root->is_object()) return std::unexpected(damaged(file("lease")));
  return LeaseRecord{.owner = std::string(json::find_text(root, "owner_id")),
                     .until = integer_of(root, "lease_until"),
                     .token = integer_of(root, "fencing_token")};
}

std::expected<void, Error> ExecutionFolder::save_lease(const LeaseRecord& lease, Milliseconds now) {
  TREATY_TRY_VOID(make_directory(path_));
  return save_file(file("lease"), encode(lease, now));
}

std::expected<void, Error> ExecutionFolder::write(const MachineWrite& write, Milliseconds now) {
  TREATY_TRY(Prepared prepared, prepare(write, now));
  return finish(prepared, now);
}

std::expected<ExecutionFolder::Prepared, Error> ExecutionFolder::prepare(const MachineWrite& write,
                                                                         Milliseconds now) {
  Prepared prepared{.releases = write.releases};
  if (write.journal.empty()) {
    TREATY_TRY_VOID(write_files(write, now, prepared));
    return prepared;
  }
  TREATY_TRY(const LogEnd lines, append_lines(file("journal"), joined(write.journal)));
  if (auto ok = write_files(write, now, prepared); !ok) {
    // If this fails, too, there are lines that tell of checkpoints which are not there.
    [[maybe_unused]] const auto ignored = cut_log(file("journal"), lines.before);
    return std::unexpected(ok.error());
  }
  return prepared;
}

std::expected<void, Error> ExecutionFolder::write_files(const MachineWrite& write, Milliseconds now,
                                                        Prepared& prepared) const {
  if (write.checkpoints.empty()) return {};
  std::string key;
  for (const Checkpoint& checkpoint : write.checkpoints) {
    key = checkpoint_key(execution_, checkpoint);
    TREATY_TRY(TemporaryFile draft,
               TemporaryFile::write(file(std::string_view(key).substr(execution_.size() + 1)),
                                    checkpoint.snapshot));
    prepared.snapshots.push_back(std::move(draft));
  }
  TREATY_TRY(TemporaryFile latest, TemporaryFile::write(file("latest"), key, now));
  prepared.latest.emplace(std::move(latest));
  return {};
}

std::expected<void, Error> ExecutionFolder::finish(Prepared& prepared, Milliseconds now) {
  if (prepared.latest) {
    for (TemporaryFile& draft : prepared.snapshots) {
      TREATY_TRY_VOID(draft.move_into_place());
    }
    TREATY_TRY_VOID(flush_names(path_));
    TREATY_TRY_VOID(prepared.latest->move_into_place());
    TREATY_TRY_VOID(flush_names(path_));
  }
  return prepared.releases ? release(now) : std::expected<void, Error>();
}

std::expected<void, Error> ExecutionFolder::release(Milliseconds now) {
  TREATY_TRY(const auto held, lease());
  if (!held) return {};
  // The token stays, so that the next one is another.
  return save_lease({.token = held->token}, now);
}

std::expected<void, Error> ExecutionFolder::write_and_remove(const MachineWrite& write,
                                                             const std::string& name,
                                                             Milliseconds now) {
  TREATY_TRY(const LogEnd lines, append_lines(file("journal"), {}));  // Cuts off what is torn.
  const Commit commit{.write = write, .removed = name, .journal_size = lines.after};
  TREATY_TRY_VOID(save_file(file("commit"), encode(commit)));
  auto prepared = prepare(write, now);
  if (!prepared) {
    [[maybe_unused]] const auto ignored = remove_file(file("commit"));
    return std::unexpected(prepared.error());
  }
  // What fails from here on is done by recover().
  TREATY_TRY_VOID(finish(*prepared, now));
  return end_commit(name);
}

std::expected<void, Error> ExecutionFolder::recover(Milliseconds now) {
  TREATY_TRY(const auto bytes, load_file(file("commit")));
  if (!bytes) return {};
  const auto commit = decode_commit(*bytes);
  if (!commit) return std::unexpected(damaged(file("commit")));
  TREATY_TRY_VOID(cut_log(file("journal"), commit->journal_size));
  TREATY_TRY_VOID(write(commit->write, now));
  return end_commit(commit->removed);
}

std::expected<void, Error> ExecutionFolder::end_commit(const std::string& name) {
  TREATY_TRY_VOID(remove_file(fmt::format("{}/{}", store_, name)));
  return remove_file(file("commit"));
}

}  // namespace treaty::store::directory
