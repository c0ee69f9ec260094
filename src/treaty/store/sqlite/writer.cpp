#include "treaty/store/sqlite/writer.h"

#include <algorithm>
#include <chrono>

#include "treaty/store/sqlite/budgets/reservations.h"

namespace treaty::store::sqlite {
namespace {

constexpr std::size_t kMostWaiting = 10'000;
constexpr std::size_t kBatch = 64;
constexpr std::chrono::microseconds kMostPatience{500};
constexpr std::int64_t kCheckpointPages = 4'000;  // 16 MiB.
constexpr int kPatience = 100;  // Milliseconds that a checkpoint waits for readers.
constexpr int kBusyPatience = 5'000;

int note_pages(void* pages, sqlite3* /*handle*/, const char* /*name*/, int count) {
  *static_cast<std::int64_t*>(pages) = count;
  return SQLITE_OK;
}

}  // namespace

Writer::Writer(std::string path, Database database, const Owners* owners,
               std::function<Milliseconds()> now)
    : path_(std::move(path)),
      database_(std::move(database)),
      owners_(owners),
      now_(std::move(now)),
      checkpoint_at_(kCheckpointPages),
      queue_(kMostWaiting) {
  sqlite3_wal_hook(database_->handle(), note_pages, &log_pages_);
  thread_ = std::thread([this] { work(); });
}

Writer::~Writer() {
  queue_.close();
  thread_.join();
  sign_off();
}

void Writer::refuse_all(const Error& error) {
  const std::lock_guard lock(refusal_mutex_);
  refusal_ = error;
}

// While many write at once, most of a batch comes back soon after it was answered: a commit that
// waits for them a little, much less than a commit takes, is shared by more of them. Whoever writes
// alone never waits.
void Writer::work() {
  std::size_t wanted = 1;
  std::chrono::nanoseconds patience{};
  while (true) {
    if (wanted > 1) queue_.gather(wanted, patience);
    std::vector<Item> batch = queue_.take(kBatch);
    if (batch.empty()) return;
    wanted = batch.size();
    const auto begun = std::chrono::steady_clock::now();
    commit(batch);
    patience = std::min<std::chrono::nanoseconds>((std::chrono::steady_clock::now() - begun) / 2,
                                                  kMostPatience);
    complete(std::move(batch));
    if (log_pages_ >= checkpoint_at_) checkpoint();
  }
}

void Writer::commit(std::span<Item> batch) {
  if (!is_open(batch)) return;
  auto failure = attempt(batch);
  if (!failure) return;
  if (is_of_one_operation(*failure) && batch.size() > 1) {
    // Each on its own, so that one does not take the others with it.
    for (Item& item : batch) commit(std::span(&item, 1));
    return;
  }
  const Error error = error_of(*failure, path_);
  for (const Item& item : batch) item->fail(error);
  if (is_of_one_operation(*failure)) return;
  // A connection that has met a broken disk may remember wrong things.
  database_.reset();
}

std::optional<Failure> Writer::attempt(std::span<Item> batch) {
  Database& database = *database_;
  const Transaction transaction{.database = database, .owners = owners_, .now = now_()};
  Statement(database, "BEGIN IMMEDIATE").run();
  for (const Item& item : batch) {
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

bool Writer::is_open(std::span<Item> batch) {
  {
    const std::lock_guard lock(refusal_mutex_);
    if (refusal_) {
      for (const Item& item : batch) item->fail(*refusal_);
      return false;
    }
  }
  if (database_) return true;
  auto opened = Database::open(path_, Access::write);
  if (!opened) {
    for (const Item& item : batch) item->fail(error_of(opened.error(), path_));
    return false;
  }
  database_ = std::move(*opened);
  sqlite3_wal_hook(database_->handle(), note_pages, &log_pages_);
  return true;
}

void Writer::checkpoint() {
  if (!database_) return;
  // RESTART waits for the readers of the log, so that the next transaction begins it anew. Reads
  // are short; if one is not, the log grows a little more before the next attempt.
  sqlite3_busy_timeout(database_->handle(), kPatience);
  const int code = sqlite3_wal_checkpoint_v2(database_->handle(), nullptr,
                                             SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
  sqlite3_busy_timeout(database_->handle(), kBusyPatience);
  checkpoint_at_ = code == SQLITE_OK ? kCheckpointPages : log_pages_ + kCheckpointPages;
  if (code == SQLITE_OK) log_pages_ = 0;
}

void Writer::sign_off() {
  if (!database_ || owners_ == nullptr) return;
  // What fails here is found by the next process, as if this one had been killed.
  Statement(*database_, "BEGIN IMMEDIATE").run();
  spend_all_of(*database_, owners_->held());
  Statement(*database_, "DELETE FROM owners WHERE number = ?", owners_->held()).run();
  Statement(*database_, "COMMIT").run();
}

}  // namespace treaty::store::sqlite
