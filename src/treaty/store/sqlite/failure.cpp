#include "treaty/store/sqlite/failure.h"

#include <fmt/format.h>
#include <sqlite3.h>

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

}  // namespace treaty::store::sqlite
