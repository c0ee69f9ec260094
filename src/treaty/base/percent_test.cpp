#include "treaty/base/percent.h"

#include <doctest/doctest.h>

using namespace treaty;

TEST_CASE("what an address cannot hold is percent-encoded, and decoded again") {
  CHECK(percent_encoded("a/b c~ü") == "a%2Fb%20c~%C3%BC");
  CHECK(percent_encoded("a/b", "/") == "a/b");
  CHECK(percent_decoded("a%2fb%20c%C3%BC") == "a/b cü");
  CHECK(percent_decoded("100% %2 %zz %4") == "100% %2 %zz %4");
}
