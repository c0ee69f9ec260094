// What SQLite says when something fails, and what it means for the store.
#pragma once

#include <string>

#include "treaty/base/error.h"

namespace treaty::store::sqlite {

struct Failure {
  int code = 0;           // Extended.
  std::string message{};  // SQLite's own.
};

// For the operator; the path is in `where` alone.
Error error_of(const Failure& failure, const std::string& path);

// True when one operation is to blame, and others of its transaction may do better without it.
bool is_of_one_operation(const Failure& failure);

}  // namespace treaty::store::sqlite
