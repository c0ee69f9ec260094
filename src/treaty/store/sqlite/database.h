// A connection to an SQLite file and its statements: the small layer between SQL and our types.
//
// A statement that fails marks its database; until the mark is taken, every later statement finds
// nothing and changes nothing. Whoever runs a transaction looks once, at its end, and code in
// between reads as if nothing could go wrong.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "treaty/base/error.h"

namespace treaty::store::sqlite {

// What SQLite says when something fails.
struct Failure {
  int code = 0;           // Extended.
  std::string message{};  // SQLite's own.
};

// For the operator; the path is in `where` alone.
Error error_of(const Failure& failure, const std::string& path);

// True when one operation is to blame, and others of its transaction may do better without it.
bool is_of_one_operation(const Failure& failure);

enum class Access {
  read,    // Of a file that is there.
  write,   // The same,
  create,  // which is made if it is not.
};

// Belongs to one thread at a time.
class Database {
 public:
  // The settings that every connection needs are made; nothing is read yet.
  static std::expected<Database, Failure> open(const std::string& path, Access access);

  // One or more statements without parameters and without results.
  void execute(const char* sql);

  // The first column of the first row of a statement without parameters; 0 when there is none.
  std::int64_t value_of(const char* sql);

  void fail(int code);
  bool has_failed() const { return failure_.has_value(); }
  std::optional<Failure> take_failure();

  // What has failed since the last look, for the operator.
  std::expected<void, Error> outcome(const std::string& path);

  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
  std::int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  sqlite3* handle() const { return handle_.get(); }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  explicit Database(sqlite3* handle) : handle_(handle) {}
  sqlite3_stmt* prepared(const char* sql);

  std::unique_ptr<sqlite3, Close> handle_;
  // By the address of their text: every text is a constant. Finalized before the handle is closed.
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_{};
  std::optional<Failure> failure_{};
};

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// One use of a statement: parameters are given in their order, columns are read in theirs. What is
// bound must outlive it.
class Statement {
 public:
  // `sql` is a constant: the compiled statement is kept under its address.
  template <class... Parameters>
  Statement(Database& database, const char* sql, Parameters&&... parameters)
      : database_(&database), statement_(database.has_failed() ? nullptr : database.prepared(sql)) {
    static_assert((!std::is_same_v<Parameters, std::string> && ...),
                  "a temporary does not outlive");
    if (statement_ != nullptr) (bind(parameters), ...);
  }
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // True while there is another row.
  bool next();

  // For statements without rows. True when it went well.
  bool run();

  std::int64_t integer() { return sqlite3_column_int64(statement_, column_++); }
  bool boolean() { return integer() != 0; }
  void skip() { ++column_; }
  bool has_column() const { return column_ < sqlite3_column_count(statement_); }
  std::string_view view();  // Until the next row.
  std::string text() { return std::string(view()); }

 private:
  void bind(std::int64_t value) { check(sqlite3_bind_int64(statement_, ++bound_, value)); }
  void bind(int value) { bind(static_cast<std::int64_t>(value)); }
  void bind(bool value) { bind(static_cast<std::int64_t>(value)); }
  void bind(std::string_view text);
  void bind(const std::string& text) { bind(std::string_view(text)); }
  void bind(const Blob& blob);
  void check(int code) {
    if (code != SQLITE_OK) database_->fail(code);
  }

  Database* database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
  int column_ = 0;
};

}  // namespace treaty::store::sqlite
