#include "treaty/base/number.h"

#include <doctest/doctest.h>

#include <limits>

using treaty::Number;

TEST_CASE("whole numbers are exact over all of int64") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(Number(kMost).whole() == kMost);
  CHECK(Number(std::int64_t{9'223'372'036'854'767'616}).whole() == 9'223'372'036'854'767'616);
  CHECK(Number(kMost) != Number(kMost - 1));
  CHECK(Number(std::numeric_limits<std::int64_t>::min()).is_whole());
}

TEST_CASE("a double without a fraction is a whole number") {
  CHECK(Number(60.0) == Number(60));
  CHECK(Number(-0.0) == Number(0));
  CHECK(Number(9007199254740992.0).is_whole());
}

TEST_CASE("a double with a fraction, beyond 2^53 or not finite stays a double") {
  CHECK(!Number(6.596).is_whole());
  CHECK(Number(6.596).value() == 6.596);
  CHECK(!Number(1e300).is_whole());
  CHECK(Number(1e300).value() == 1e300);
  CHECK(!Number(std::numeric_limits<double>::infinity()).is_whole());
  CHECK(!Number(std::numeric_limits<double>::quiet_NaN()).is_whole());
}

TEST_CASE("a sum of counts ends at the greatest integer") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(treaty::saturating_sum(2, 3) == 5);
  CHECK(treaty::saturating_sum(kMost - 1, 1) == kMost);
  CHECK(treaty::saturating_sum(kMost, 1) == kMost);
}

TEST_CASE("a decimal is read as a whole; what is out of range is infinite or 0") {
  CHECK(treaty::parse_decimal("-1.5e3") == -1500);
  CHECK(treaty::parse_decimal("1e999") == std::numeric_limits<double>::infinity());
  CHECK(treaty::parse_decimal("1e-999") == 0);
  CHECK(!treaty::parse_decimal(""));
  CHECK(!treaty::parse_decimal("1.5 "));
  CHECK(!treaty::parse_decimal("x"));
}

TEST_CASE("a number that nobody set is 0") { CHECK(Number() == Number(0)); }
