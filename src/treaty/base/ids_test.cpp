#include "treaty/base/ids.h"

#include <doctest/doctest.h>

#include <set>

#include "treaty/base/text.h"

using namespace treaty;

TEST_CASE("RFC 9562: a new UUID is of version 4, of the common variant, and new") {
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) {
    const std::string id = new_uuid();
    CHECK(is_uuid(id));
    CHECK(id[14] == '4');
    CHECK(std::string_view("89ab").contains(id[19]));
    CHECK(seen.insert(id).second);
  }
}
