#include "treaty/store/sqlite/database.h"

#include <fmt/format.h>

#include <utility>

namespace treaty::store::sqlite {
namespace {

constexpr int kPrimary = 0xff;  // The lower byte of an extended code.

std::string advice_of(int code) {
  switch (code & kPrimary) {
    case SQLITE_FULL: return "the disk of the store is full; free some space";
    case SQLITE_READONLY:
      return "the store cannot be written to; check the permissions of its files";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another process holds the store; try again";
    case SQLITE_CANTOPEN:
      return "the store cannot be opened; check that its directory exists and may be written to";
    case SQLITE_PERM:
    case SQLITE_AUTH: return "access to the store is denied; check the permissions of its files";
    case SQLITE_NOMEM: return "there is not enough memory for the store";
    case SQLITE_IOERR:
      return "the disk of the store fails to read or write; check the system's log";
    default: return "the store failed";
  }
}

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

// Checkpoints are the writer's own, between its transactions. A log that has grown beyond the limit
// all the same is cut to it when it is begun again.
constexpr const char* kSettings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA wal_autocheckpoint = 0;"
    "PRAGMA journal_size_limit = 33554432;"  // 32 MiB.
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA secure_delete = FAST;"
    "PRAGMA cache_size = -2048;";  // KiB, of each connection.

}  // namespace

Error error_of(const Failure& failure, const std::string& path) {
  switch (failure.code & kPrimary) {
    case SQLITE_NOTADB:
      return {.code = ErrorCode::corrupt,
              .message = "this file is not a store of Treaty; move it away or name another file",
              .where = path};
    case SQLITE_CORRUPT:
      return {.code = ErrorCode::corrupt,
              .message = fmt::format("the store is damaged ({}); restore it from a copy, or save "
                                     "what can be read with `sqlite3 FILE .recover`",
                                     failure.message),
              .where = path};
    case SQLITE_CONSTRAINT:
      return {.code = ErrorCode::conflict,
              .message = fmt::format("this does not fit to what is stored ({})", failure.message),
              .where = path};
    default:
      return {.code = ErrorCode::unavailable,
              .message = fmt::format("{} ({}, code {})", advice_of(failure.code), failure.message,
                                     failure.code),
              .where = path};
  }
}

bool is_of_one_operation(const Failure& failure) {
  switch (failure.code & kPrimary) {
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
    case SQLITE_ERROR: return true;
    default: return false;
  }
}

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

std::expected<void, Error> Database::outcome(const std::string& path) {
  if (const auto failure = take_failure()) return std::unexpected(error_of(*failure, path));
  return {};
}

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
