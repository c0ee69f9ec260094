// From a path to a database that can be used: made, checked, brought up to date.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "treaty/store/sqlite/database.h"
#include "treaty/store/sqlite/owners.h"
#include "treaty/store/store.h"

namespace treaty::store::sqlite {

struct Opened {
  Database database;
  std::optional<Owners> owners{};  // When turns are run: this process has its number.
  bool was_left_open = false;      // Some process before this one did not end in good order.
};

std::expected<Opened, Error> open_database(const std::string& path, Purpose purpose);

}  // namespace treaty::store::sqlite
