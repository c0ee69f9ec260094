#include "treaty/store/open_store.h"

#include <doctest/doctest.h>

#include <string>

#include "treaty/testing/temporary_directory.h"

namespace treaty::store {

TEST_CASE("a store is opened by its address") {
  const testing::TemporaryDirectory directory;

  CHECK(open_store("sqlite://" + directory.path() + "/treaty.db"));
  CHECK(open_machine_store("directory:" + directory.path() + "/executions"));
  CHECK(open_machine_store("memory:"));
}

TEST_CASE("an address that names no store is refused, with an example") {
  for (const char* address : {"sqlite://", "postgres://host/db", "/var/lib/treaty.db", ""}) {
    const auto store = open_store(address);

    REQUIRE(!store);
    CHECK(store.error().code == ErrorCode::wrong_usage);
    CHECK(store.error().message.contains("sqlite:///"));
    CHECK(!open_machine_store(address));
  }
}

TEST_CASE("a store that is only read is not made") {
  const testing::TemporaryDirectory directory;

  CHECK(!open_store("sqlite://" + directory.path() + "/treaty.db", {.purpose = Purpose::read}));
  CHECK(!open_machine_store("directory:" + directory.path() + "/x", {.purpose = Purpose::read}));
}

}  // namespace treaty::store
