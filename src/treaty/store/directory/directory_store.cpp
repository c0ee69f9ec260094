#include "treaty/store/directory/directory_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <map>

#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/store/directory/execution_folder.h"
#include "treaty/store/directory/files.h"
#include "treaty/store/directory/work_file.h"

namespace treaty::store {
namespace {

using directory::ExecutionFolder;
using directory::FileLock;
using directory::WorkFile;
using Texts = std::vector<std::string>;

constexpr int kVersion = 1;  // In the file `.version`.
constexpr std::string_view kTrash = ".pruned-";

constexpr const char* kSignals = ".signals";
constexpr std::string_view kAnyone = "_anyone_";

// In the middle of a name: number_addressee_id.json.
std::string mark_of(const std::string& addressee) {
  return addressee.empty() ? std::string(kAnyone)
                           : fmt::format("_{}_", directory::file_name_of(addressee));
}

std::string encode_signal(const std::string& id, const std::string& channel,
                          const std::string& data, const std::string& addressee, Milliseconds now) {
  json::Writer writer;
  writer.begin_object().member("id", id).member("channel", channel).member("data_json", data);
  writer.member("created_at", timestamp_of(now));
  if (!addressee.empty()) writer.member("addressee", addressee);
  writer.end_object();
  return writer.take();
}

struct SignalFile {
  std::string name{};  // In the store.
  std::string data{};
};

// Signals in files: a folder for each channel, and in it a file for each signal, named so that
// their order is that of their coming and that nobody has to open one to know whom it is for.
//
// Whoever writes holds the lock of the store.
class SignalFolder {
 public:
  explicit SignalFolder(std::string store) : store_(std::move(store)) {}

  // The oldest one on the channel for this execution, or for anyone.
  std::expected<std::optional<SignalFile>, Error> oldest(const std::string& channel,
                                                         const std::string& execution) const {
    const std::string folder = folder_of(channel);
    const std::string mark = mark_of(execution);
    for (const std::string& file : directory::names_in(fmt::format("{}/{}", store_, folder))) {
      if (!file.contains(mark) && !file.contains(kAnyone)) continue;
      SignalFile signal{.name = fmt::format("{}/{}", folder, file)};
      const std::string path = fmt::format("{}/{}", store_, signal.name);
      TREATY_TRY(const auto bytes, directory::load_file(path));
      if (!bytes) continue;
      const json::Document document(*bytes,
                                    {.max_size = std::numeric_limits<std::uint32_t>::max()});
      const auto data = json::find_member(document.root(), "data_json");
      if (!data || !data->is_string()) {
        return fail(ErrorCode::corrupt, "a signal of the store is damaged; remove its file", path);
      }
      signal.data = data->text();
      return signal;
    }
    return std::nullopt;
  }

  // Without an addressee: for anyone.
  std::expected<void, Error> add(const std::string& channel, const std::string& data,
                                 const std::string& addressee, Milliseconds now) {
    const std::string folder = fmt::format("{}/{}", store_, folder_of(channel));
    TREATY_TRY_VOID(directory::make_directory(folder));
    const auto names = directory::names_in(folder);
    std::string_view last = names.empty() ? std::string_view() : names.back();
    const auto number = parse_number<std::uint64_t>(take_until(last, '_')).value_or(0) + 1;
    const std::string id = new_uuid();
    return directory::save_file(
        fmt::format("{}/{:012}{}{}.json", folder, number, mark_of(addressee), id),
        encode_signal(id, channel, data, addressee, now));
  }

  // Those that are for this execution alone.
  std::expected<void, Error> remove_all_of(const std::string& execution) {
    const std::string mark = mark_of(execution);
    const std::string all = fmt::format("{}/{}", store_, kSignals);
    for (const std::string& channel : directory::names_in(all)) {
      const std::string folder = fmt::format("{}/{}", all, channel);
      for (const std::string& file : directory::names_in(folder)) {
        if (!file.contains(mark)) continue;
        TREATY_TRY_VOID(directory::remove_file(fmt::format("{}/{}", folder, file)));
      }
    }
    return {};
  }

 private:
  static std::string folder_of(const std::string& channel) {
    return fmt::format("{}/{}", kSignals, directory::file_name_of(channel));
  }

  std::string store_;
};

class DirectoryStore final : public WorkEventStore {
 public:
  DirectoryStore(std::string path, const StoreOptions& options)
      : WorkEventStore(options.clock),
        path_(std::move(path)),
        is_read_only_(options.purpose == Purpose::read),
        owner_(new_owner()),
        signals_(path_) {}

  Task<Lease> acquire(std::string execution) override {
    co_return locked<Lease>([&] { return acquire_now(execution); });
  }

  Task<void> renew(std::string execution, std::int64_t token) override {
    co_return locked<void>([&]() -> std::expected<void, Error> {
      ExecutionFolder folder(path_, execution);
      TREATY_TRY(LeaseRecord lease, held(folder, execution, token));
      lease.until = lease_end(now());
      return folder.save_lease(lease, now());
    });
  }

  Task<void> release(std::string execution, std::int64_t token) override {
    co_return locked<void>([&]() -> std::expected<void, Error> {
      ExecutionFolder folder(path_, execution);
      TREATY_TRY(const LeaseRecord lease, held(folder, execution, token));
      return folder.save_lease({.token = lease.token}, now());
    });
  }

  Task<void> write(MachineWrite write) override {
    co_return locked<void>([&]() -> std::expected<void, Error> {
      TREATY_TRY_VOID(check_write(write));
      ExecutionFolder folder(path_, write.execution);
      TREATY_TRY_VOID(held(folder, write.execution, write.token));
      return folder.write(write, now());
    });
  }

  Task<std::optional<std::string>> take_signal(std::string channel, Taken taken,
                                               MachineWrite waiting) override {
    co_return locked<std::optional<std::string>>(
        [&] { return take_signal_now(channel, taken, waiting); });
  }

  Task<Texts> send_signal(std::string channel, std::string data) override {
    co_return locked<Texts>([&] { return send_signal_now(channel, data); });
  }

  Task<std::optional<ExecutionRecord>> find_execution(std::string execution) override {
    if (!is_execution_id(execution)) co_return std::nullopt;
    co_return ExecutionFolder(path_, std::move(execution)).read();
  }

  Task<std::vector<ExecutionRow>> list_executions() override { co_return rows(); }

  Task<Texts> prune_executions(PruneQuery query) override {
    if (query.only_count) co_return prunable(query);
    co_return locked<Texts>([&] { return prune_now(query); });
  }

  Task<WorkCounts> count_work(std::string pool) override {
    WorkFile file(path_, pool);
    if (auto ok = file.catch_up(); !ok) co_return std::unexpected(ok.error());
    co_return file.pool().counts();
  }

 private:
  // One at a time, here and in all other processes.
  template <class T, class Work>
  std::expected<T, Error> locked(Work work) {
    if (is_read_only_) {
      return fail(ErrorCode::unavailable, "the store was opened only to be read");
    }
    TREATY_TRY(const FileLock lock, FileLock::take(path_ + "/.lock"));
    return work();
  }

  std::expected<Lease, Error> acquire_now(const std::string& execution) {
    TREATY_TRY_VOID(check_execution_id(execution));
    ExecutionFolder folder(path_, execution);
    TREATY_TRY(const auto before, folder.lease());
    TREATY_TRY(const LeaseRecord lease, next_lease(before, owner_, now()));
    TREATY_TRY_VOID(folder.recover(now()));
    TREATY_TRY_VOID(folder.save_lease(lease, now()));
    return Lease{.token = lease.token};
  }

  // The lease, if it is ours; what a crash has interrupted is done then.
  std::expected<LeaseRecord, Error> held(ExecutionFolder& folder, const std::string& execution,
                                         std::int64_t token) {
    TREATY_TRY_VOID(check_execution_id(execution));
    TREATY_TRY(auto lease, folder.lease());
    TREATY_TRY_VOID(check_lease(lease, owner_, token));
    TREATY_TRY_VOID(folder.recover(now()));
    return *std::move(lease);
  }

  std::expected<std::optional<std::string>, Error> take_signal_now(const std::string& channel,
                                                                   const Taken& taken,
                                                                   const MachineWrite& waiting) {
    TREATY_TRY_VOID(check_write(waiting));
    ExecutionFolder folder(path_, waiting.execution);
    TREATY_TRY_VOID(held(folder, waiting.execution, waiting.token));
    TREATY_TRY(auto signal, signals_.oldest(channel, waiting.execution));
    if (!signal) {
      TREATY_TRY_VOID(folder.write(waiting, now()));
      return std::nullopt;
    }
    const MachineWrite write = taken(signal->data);
    TREATY_TRY_VOID(check_write(write));
    ExecutionFolder target(path_, write.execution);
    TREATY_TRY_VOID(held(target, write.execution, write.token));
    TREATY_TRY_VOID(target.write_and_remove(write, signal->name, now()));
    return std::move(signal->data);
  }

  std::expected<Texts, Error> send_signal_now(const std::string& channel, const std::string& data) {
    Texts waiters;
    for (const std::string& execution : executions()) {
      TREATY_TRY(const auto waits_on, ExecutionFolder(path_, execution).waits_on());
      if (waits_on == channel) waiters.push_back(execution);
    }
    for (const std::string& addressee : waiters.empty() ? Texts{""} : waiters) {
      TREATY_TRY_VOID(signals_.add(channel, data, addressee, now()));
    }
    return waiters;
  }

  // Folders that may be executions, by name.
  Texts executions() const {
    Texts names = directory::names_in(path_);
    std::erase_if(names, [](const std::string& name) { return !is_execution_id(name); });
    return names;
  }

  std::expected<std::vector<ExecutionRow>, Error> rows() const {
    std::vector<ExecutionRow> all;
    const Milliseconds at = now();
    for (const std::string& execution : executions()) {
      TREATY_TRY(auto row, ExecutionFolder(path_, execution).row(at));
      if (row) all.push_back(*std::move(row));
    }
    sort_newest_first(all);
    return all;
  }

  std::expected<Texts, Error> prunable(const PruneQuery& query) const {
    TREATY_TRY(const auto all, rows());
    Texts names;
    for (const ExecutionRow& row : executions_to_prune(all, query)) names.push_back(row.execution);
    return names;
  }

  std::expected<Texts, Error> prune_now(const PruneQuery& query) {
    TREATY_TRY(Texts names, prunable(query));
    for (const std::string& name : names) {
      // Gone at once, whatever happens to its files then.
      const std::string trash = fmt::format("{}/{}{}", path_, kTrash, new_uuid());
      std::error_code code;
      std::filesystem::rename(ExecutionFolder(path_, name).path(), trash, code);
      if (code) {
        return fail(ErrorCode::unavailable,
                    fmt::format("an execution cannot be removed ({})", code.message()), trash);
      }
      TREATY_TRY_VOID(signals_.remove_all_of(name));
    }
    for (const std::string& name : directory::names_in(path_)) {
      std::error_code ignored;
      if (name.starts_with(kTrash)) std::filesystem::remove_all(path_ + "/" + name, ignored);
    }
    TREATY_TRY_VOID(directory::flush_names(path_));
    return names;
  }

  std::expected<void, Error> change(const std::string& pool, const Decide& decide) override {
    return locked<void>([&]() -> std::expected<void, Error> {
      WorkFile& file = pools_.try_emplace(pool, path_, pool).first->second;
      TREATY_TRY_VOID(file.catch_up());
      TREATY_TRY(auto events, decide(file.pool()));
      return file.add(std::move(events));
    });
  }

  const std::string path_;
  const bool is_read_only_;
  const std::string owner_;
  SignalFolder signals_;
  std::map<std::string, WorkFile> pools_{};  // Under the lock.
};

std::expected<void, Error> check_version(const std::string& path, Purpose purpose) {
  const std::string file = path + "/.version";
  TREATY_TRY(const auto text, directory::load_file(file));
  if (!text) {
    if (purpose == Purpose::read) return {};
    return directory::save_file(file, fmt::format("{}\n", kVersion));
  }
  const std::string_view digits = trimmed(*text);
  const auto version = parse_number<int>(digits);
  if (version && *version <= kVersion) return {};
  return fail(ErrorCode::too_new,
              fmt::format("the store has version {}, and this program knows versions up to "
                          "{}; use the newer program, or another directory",
                          digits.substr(0, 20), kVersion),
              path);
}

}  // namespace

std::expected<std::unique_ptr<MachineStore>, Error> open_directory_store(
    const std::string& path, const StoreOptions& options) {
  std::error_code code;
  const std::string absolute = std::filesystem::absolute(path, code).lexically_normal().string();
  const bool is_there = std::filesystem::exists(absolute, code);
  if (is_there && !std::filesystem::is_directory(absolute, code)) {
    return fail(ErrorCode::unavailable, "this is a file; name a directory", path);
  }
  if (!is_there) {
    if (options.purpose != Purpose::run) {
      return fail(ErrorCode::unavailable,
                  "there is no store yet; `treaty machine run --store` makes one", path);
    }
    TREATY_TRY_VOID(directory::make_directory(absolute));
  }
  TREATY_TRY_VOID(check_version(absolute, options.purpose));
  return std::make_unique<DirectoryStore>(absolute, options);
}

}  // namespace treaty::store
