#include "treaty/base/schema/decimal.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

using treaty::schema::Decimal;

TEST_CASE("a number is the same however it is written") {
  CHECK(Decimal("100") == Decimal("1e2"));
  CHECK(Decimal("0.10") == Decimal("1E-1"));
  CHECK(Decimal("-0") == Decimal("0.0e5"));
  CHECK(Decimal("1") != Decimal("-1"));
}

TEST_CASE("whole numbers are told from others") {
  CHECK(Decimal("0").is_whole());
  CHECK(Decimal("1.50e1").is_whole());
  CHECK(Decimal("1e400").is_whole());
  CHECK(!Decimal("1.5").is_whole());
  CHECK(!Decimal("1e-1").is_whole());
}

TEST_CASE("counts are whole, not negative, and end where uint64 does") {
  CHECK(Decimal("2.0").count() == 2);
  CHECK(Decimal("18446744073709551615").count() == 18446744073709551615U);
  CHECK(Decimal("1e300").count() == 18446744073709551615U);
  CHECK(!Decimal("-1").count());
  CHECK(!Decimal("0.5").count());
}

TEST_CASE("multiples are exact where division of doubles is not") {
  CHECK(Decimal("0.3").is_multiple_of(Decimal("0.1")));
  CHECK(Decimal("1e308").is_multiple_of(Decimal("0.5")));
  CHECK(!Decimal("1e308").is_multiple_of(Decimal("0.123456789")));
  CHECK(!Decimal("5").is_multiple_of(Decimal("10")));
  CHECK(Decimal("0").is_multiple_of(Decimal("7")));
}

TEST_CASE("numbers with exponents beyond all reason are still ordered") {
  CHECK(Decimal("1e-99999999999999999999") > Decimal("0"));
  CHECK(Decimal("1e-99999999999999999999") < Decimal("1e-300"));
  CHECK(Decimal("-1e99999999999999999999") < Decimal("-1e300"));
}

TEST_CASE("decimals are ordered and divided as integers are, at any scale") {
  CHECK(rc::check([] {
    constexpr std::int64_t kMost = 1'000'000'000'000'000'000;
    const std::int64_t left = *rc::gen::inRange(-kMost, kMost);
    const std::int64_t right = *rc::gen::oneOf(
        rc::gen::elementOf(std::vector<std::int64_t>{left, left / 2, left / 10, -left, 3, 1000}),
        rc::gen::inRange(-kMost, kMost));
    const auto scale = *rc::gen::inRange(-300, 300);
    const Decimal one(fmt::format("{}e{}", left, scale));
    const Decimal other(fmt::format("{}E{}", right, scale));

    RC_ASSERT((one <=> other) == (left <=> right));
    RC_ASSERT((one == other) == (left == right));
    if (right > 0) RC_ASSERT(one.is_multiple_of(other) == (left % right == 0));
  }));
}
