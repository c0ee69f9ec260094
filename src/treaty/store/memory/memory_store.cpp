#include "treaty/store/memory/memory_store.h"

#include <set>
#include <span>

#include "treaty/base/mutex.h"
#include "treaty/store/sqlite/connections.h"
#include "treaty/store/sqlite/migrations.h"
#include "treaty/store/sqlite/opening.h"
#include "treaty/store/sqlite/sqlite_store.h"

namespace treaty::store {
namespace {

constexpr const char* kName = ":memory:";  // SQLite's, for a database without a file.

// Fails only for want of memory, and then throws, as any allocation does.
sqlite::Database new_database() {
  sqlite::Database database = sqlite::Database::open(kName, sqlite::Access::create).value();
  sqlite::migrate(database, kName).value();
  return database;
}

}  // namespace

class MemoryDisk {
 public:
  Mutex mutex{};
  sqlite::Database database TREATY_GUARDED_BY(mutex) = new_database();
  std::set<std::int64_t> owners TREATY_GUARDED_BY(mutex){};  // Those that live.
};

namespace {

using sqlite::Database;
using sqlite::Transaction;

// Operations run at once, on the thread of their caller.
class MemoryConnections final : public sqlite::Connections,
                                OperationRunner<Database>,
                                OperationRunner<const Transaction> {
 public:
  explicit MemoryConnections(MemoryOptions options)
      : now_(std::move(options.now)), disk_(std::move(options.disk)) {
    const MutexLock lock(disk_->mutex);
    owner_ = sqlite::sign_on(disk_->database, kName, is_gone_,
                             [](std::int64_t /*owner*/) { return std::expected<void, Error>(); })
                 .value()
                 .owner;
    disk_->owners.insert(owner_);
  }
  ~MemoryConnections() override {
    const MutexLock lock(disk_->mutex);
    sqlite::sign_off(disk_->database, owner_);
    disk_->owners.erase(owner_);
  }
  MemoryConnections(const MemoryConnections&) = delete;
  MemoryConnections& operator=(const MemoryConnections&) = delete;

 private:
  OperationRunner<Database>& reader() override { return *this; }
  OperationRunner<const Transaction>* writer() override { return this; }

  void add(std::unique_ptr<Operation<Database>> item) override {
    const MutexLock lock(disk_->mutex);
    item->run(disk_->database);
    end(std::move(item), disk_->database.take_failure());
  }
  void add(std::unique_ptr<Operation<const Transaction>> item) override {
    const MutexLock lock(disk_->mutex);
    const Transaction transaction{disk_->database, owner_, is_gone_, now_()};
    const auto failure = sqlite::run_transaction(transaction, std::span(&item, 1));
    end(std::move(item), failure);
  }

  template <class Context>
  static void end(std::unique_ptr<Operation<Context>> item,
                  const std::optional<sqlite::Failure>& failure) {
    if (failure) item->fail(sqlite::error_of(*failure, kName));
    std::vector<std::unique_ptr<Operation<Context>>> done;
    done.push_back(std::move(item));
    complete(std::move(done));
  }

  const std::function<Milliseconds()> now_;
  const std::shared_ptr<MemoryDisk> disk_;
  // Called inside operations, which hold the mutex.
  const sqlite::IsGone is_gone_ = [this](std::int64_t owner)
                                      TREATY_UNCHECKED { return !disk_->owners.contains(owner); };
  std::int64_t owner_ = 0;
};

}  // namespace

std::shared_ptr<MemoryDisk> make_memory_disk() { return std::make_shared<MemoryDisk>(); }

std::unique_ptr<Store> open_memory_store(MemoryOptions options) {
  if (!options.now) options.now = system_now;
  if (!options.disk) options.disk = make_memory_disk();
  const auto now = options.now;
  return sqlite::make_store(std::make_unique<MemoryConnections>(std::move(options)), now);
}

}  // namespace treaty::store
