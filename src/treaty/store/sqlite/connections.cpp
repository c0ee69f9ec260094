#include "treaty/store/sqlite/connections.h"

namespace treaty::store::sqlite {
namespace {

constexpr std::int64_t kCheckpointPages = 4'000;  // 16 MiB.
constexpr int kPatience = 100;        // Milliseconds that a checkpoint waits for readers,
constexpr int kLongPatience = 2'000;  // and when the log is twice as long as it should be.
constexpr int kBusyPatience = 5'000;
constexpr std::size_t kReaders = 2;   // For turns,
constexpr std::size_t kBrowsers = 2;  // for everything else.
constexpr std::size_t kMostWaitingReads = 10'000;

int note_pages(void* pages, sqlite3* /*handle*/, const char* /*name*/, int count) {
  *static_cast<std::int64_t*>(pages) = count;
  return SQLITE_OK;
}

// Runs the operations in one transaction and commits it.
std::optional<Failure> run_transaction(const Transaction& transaction,
                                       std::span<Writer::Item> batch) {
  Database& database = transaction.database;
  Statement(database, "BEGIN IMMEDIATE").run();
  for (const auto& item : batch) {
    if (database.has_failed()) break;
    item->run(transaction);
  }
  Statement(database, "COMMIT").run();
  auto failure = database.take_failure();
  if (failure && sqlite3_get_autocommit(database.handle()) == 0) {
    Statement(database, "ROLLBACK").run();
    database.take_failure();
  }
  return failure;
}

}  // namespace

Connections::Connections(const std::string& path, Opened opened, const StoreOptions& options)
    : owners_(std::move(opened.owners)), readers_(path, kReaders), browsers_(path, kBrowsers) {
  if (options.purpose == Purpose::read) return;
  writer_.emplace(
      path, std::move(opened.database), owners_ ? owners_->held() : 0,
      [this](std::int64_t owner) { return owners_ && owners_->is_gone(owner); }, options.clock);
}

Writer::Writer(std::string path, Database database, std::int64_t owner, IsGone is_gone,
               std::shared_ptr<const Clock> clock)
    : path_(std::move(path)),
      database_(watched(std::move(database))),
      owner_(owner),
      is_gone_(std::move(is_gone)),
      clock_(std::move(clock)),
      checkpoint_at_(kCheckpointPages),
      batches_([this](std::span<Item> batch) { return commit(batch); },
               [this] { checkpoint_when_due(); }) {}

Writer::~Writer() {
  batches_.stop();
  if (database_ && owner_ != 0) sign_off(*database_, owner_);
}

void Writer::refuse_all(const Error& error) {
  const MutexLock lock(refusal_mutex_);
  refusal_ = error;
}

std::optional<BatchFailure> Writer::commit(std::span<Item> batch) {
  if (auto ok = check_open(); !ok) return BatchFailure{.error = std::move(ok.error())};
  const auto failure = run_transaction(
      {.database = *database_, .owner = owner_, .is_gone = is_gone_, .now = clock_->unix_now()},
      batch);
  if (!failure) return std::nullopt;
  const bool is_of_one = is_of_one_operation(*failure);
  // A connection that has met a broken disk may remember wrong things.
  if (!is_of_one) database_.reset();
  return BatchFailure{.error = error_of(*failure, path_), .is_of_one = is_of_one};
}

std::expected<void, Error> Writer::check_open() {
  {
    const MutexLock lock(refusal_mutex_);
    if (refusal_) return std::unexpected(*refusal_);
  }
  if (database_) return {};
  auto opened = Database::open(path_, Access::write);
  if (!opened) return std::unexpected(error_of(opened.error(), path_));
  database_ = watched(std::move(*opened));
  return {};
}

Database Writer::watched(Database database) {
  sqlite3_wal_hook(database.handle(), note_pages, &log_pages_);
  return database;
}

void Writer::checkpoint_when_due() {
  // The log is shorter than at the last attempt, which failed: another process began it anew.
  if (log_pages_ < checkpoint_at_ - kCheckpointPages) checkpoint_at_ = kCheckpointPages;
  if (log_pages_ >= checkpoint_at_) checkpoint();
}

void Writer::checkpoint() {
  if (!database_) return;
  // RESTART waits for the readers of the log, so that the next transaction begins it anew. Reads
  // are short; if one is not, the log grows a little more before the next attempt, which waits
  // longer.
  const bool is_long = log_pages_ >= 2 * kCheckpointPages;
  sqlite3_busy_timeout(database_->handle(), is_long ? kLongPatience : kPatience);
  const int code = sqlite3_wal_checkpoint_v2(database_->handle(), nullptr,
                                             SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  sqlite3_busy_timeout(database_->handle(), kBusyPatience);
  checkpoint_at_ = code == SQLITE_OK ? kCheckpointPages : log_pages_ + kCheckpointPages;
  if (code == SQLITE_OK) log_pages_ = 0;
}

Readers::Readers(std::string path, std::size_t threads)
    : path_(std::move(path)), queue_(kMostWaitingReads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Readers::~Readers() {
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

void Readers::work() {
  // Opened again after a failure. While a connection is open, the files beside the database stay.
  std::optional<Database> database;
  if (auto opened = Database::open(path_, Access::read)) database = std::move(*opened);
  while (true) {
    auto taken = queue_.take(1);
    if (taken.empty()) return;
    read(database, *taken.front());
    complete(std::move(taken));
  }
}

void Readers::read(std::optional<Database>& database, Operation<Context>& operation) const {
  if (!database) {
    auto opened = Database::open(path_, Access::read);
    if (!opened) {
      operation.fail(error_of(opened.error(), path_));
      return;
    }
    database = std::move(*opened);
  }
  Statement(*database, "BEGIN").run();
  operation.run(*database);
  Statement(*database, "COMMIT").run();
  const auto failure = database->take_failure();
  if (!failure) return;
  operation.fail(error_of(*failure, path_));
  database.reset();
}

}  // namespace treaty::store::sqlite
