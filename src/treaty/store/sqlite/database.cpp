#include "treaty/store/sqlite/database.h"

#include <utility>

namespace treaty::store::sqlite {
namespace {

constexpr int kBusyMilliseconds = 5'000;  // Longer than any transaction of ours takes.

int flags_of(Access access) {
  constexpr int kCommon = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  switch (access) {
    case Access::read: return kCommon | SQLITE_OPEN_READONLY;
    case Access::write: return kCommon | SQLITE_OPEN_READWRITE;
    case Access::create: return kCommon | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return kCommon;
}

// Checkpoints are the writer's own, between its transactions.
constexpr const char* kSettings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA secure_delete = FAST;"
    "PRAGMA cache_size = -2048;";  // KiB, of each connection.

}  // namespace

std::expected<Database, Failure> Database::open(const std::string& path, Access access) {
  // Counts of memory that nobody asks for would cost a lock at every allocation. Can only be said
  // before the library is first used; later it is without effect.
  [[maybe_unused]] static const int is_said = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags_of(access), nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    return std::unexpected(Failure{.code = code, .message = sqlite3_errstr(code)});
  }
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  database.execute(kSettings);
  if (auto failure = database.take_failure()) return std::unexpected(*std::move(failure));
  return database;
}

void Database::execute(const char* sql) {
  if (has_failed()) return;
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::value_of(const char* sql) {
  Statement statement(*this, sql);
  return statement.next() ? statement.integer() : 0;
}

void Database::fail(int code) {
  if (has_failed()) return;
  failure_ = Failure{.code = code, .message = sqlite3_errmsg(handle_.get())};
}

std::optional<Failure> Database::take_failure() { return std::exchange(failure_, std::nullopt); }

sqlite3_stmt* Database::prepared(const char* sql) {
  auto& kept = statements_[sql];
  if (kept) return kept.get();
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  kept.reset(statement);
  if (code != SQLITE_OK) fail(code);
  return statement;
}

Statement::~Statement() {
  // What was bound may be gone soon, but is not looked at before all is bound anew.
  if (statement_ != nullptr) sqlite3_reset(statement_);
}

bool Statement::next() {
  if (statement_ == nullptr || database_->has_failed()) return false;
  column_ = 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}

bool Statement::run() {
  next();
  return !database_->has_failed();
}

std::string_view Statement::view() {
  const int column = column_++;
  // The blob first: for a text it is the same bytes, without a copy.
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Statement::bind(std::string_view text) {
  // A null pointer would be NULL, and an empty text is not.
  const char* bytes = text.data() == nullptr ? "" : text.data();
  check(sqlite3_bind_text64(statement_, ++bound_, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(const Blob& blob) {
  const char* bytes = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  check(sqlite3_bind_blob64(statement_, ++bound_, bytes, blob.bytes.size(), SQLITE_STATIC));
}

}  // namespace treaty::store::sqlite
