#include "treaty/store/sqlite/writer.h"

#include "treaty/store/sqlite/budgets/reservations.h"

namespace treaty::store::sqlite {
namespace {

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
      database_(watched(std::move(database))),
      owners_(owners),
      now_(std::move(now)),
      checkpoint_at_(kCheckpointPages),
      batches_([this](std::span<Item> batch) { return commit(batch); },
               [this] {
                 if (log_pages_ >= checkpoint_at_) checkpoint();
               }) {}

Writer::~Writer() {
  batches_.stop();
  sign_off();
}

void Writer::refuse_all(const Error& error) {
  const std::lock_guard lock(refusal_mutex_);
  refusal_ = error;
}

std::optional<BatchFailure> Writer::commit(std::span<Item> batch) {
  if (auto ok = check_open(); !ok) return BatchFailure{.error = std::move(ok.error())};
  const auto failure = attempt(batch);
  if (!failure) return std::nullopt;
  const bool is_of_one = is_of_one_operation(*failure);
  // A connection that has met a broken disk may remember wrong things.
  if (!is_of_one) database_.reset();
  return BatchFailure{.error = error_of(*failure, path_), .is_of_one = is_of_one};
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

std::expected<void, Error> Writer::check_open() {
  {
    const std::lock_guard lock(refusal_mutex_);
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
