#include "treaty/config/units.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

namespace treaty::config {
namespace {

using std::chrono::milliseconds;

TEST_CASE("A duration is a number with its unit") {
  CHECK(parse_duration("500ms") == milliseconds(500));
  CHECK(parse_duration("1.5s") == milliseconds(1'500));
  CHECK(parse_duration("1.001s") == milliseconds(1'001));
  CHECK(parse_duration("0s") == milliseconds(0));
  CHECK(parse_duration(" 2 m ") == milliseconds(120'000));
  CHECK(parse_duration("24h") == milliseconds(86'400'000));
  CHECK(parse_duration("7d") == milliseconds(604'800'000));
  for (const char* wrong : {"", "5", "s", "-1s", "1 hour", "1h30m", "nan s", "inf s", "1e300h"}) {
    CAPTURE(wrong);
    CHECK(!parse_duration(wrong));
  }
}

TEST_CASE("A size is a number of bytes, or one with its unit") {
  CHECK(parse_size("4096") == 4'096);
  CHECK(parse_size("4096B") == 4'096);
  CHECK(parse_size("16MiB") == std::size_t{16} << 20U);
  CHECK(parse_size("1.5 KiB") == 1'536);
  CHECK(parse_size("2MB") == 2'000'000);
  for (const char* wrong : {"", "MiB", "-1", "1mb", "1TiB", "1e300GiB"}) {
    CAPTURE(wrong);
    CHECK(!parse_size(wrong));
  }
}

TEST_CASE("Dollars are counted to the twelfth decimal") {
  CHECK(parse_dollars("2.50") == 2'500'000'000'000);
  CHECK(parse_dollars("0.000000000001") == 1);
  CHECK(parse_dollars(" .5 ") == 500'000'000'000);
  CHECK(parse_dollars("5.") == 5'000'000'000'000);
  CHECK(parse_dollars("999999.999999999999") == 999'999'999'999'999'999);
  CHECK(parse_dollars("1000000") == 1'000'000'000'000'000'000);
  CHECK(parse_dollars("000000000000000000001") == 1'000'000'000'000);
  for (const char* wrong :
       {"", ".", "-1", "+1", "1e3", "0x10", "$5", "1,50", "1.2.3", "nan", "0.0000000000001",
        "1000000.000000000001", "9999999", "10000000", "99999999999999999999999999"}) {
    CAPTURE(wrong);
    CHECK(!parse_dollars(wrong));
  }
}

TEST_CASE("What is written is the largest unit that fits, and reads back") {
  CHECK(duration_text(milliseconds(86'400'000)) == "24h");
  CHECK(duration_text(milliseconds(172'800'000)) == "2d");
  CHECK(duration_text(milliseconds(90'000)) == "90s");
  CHECK(duration_text(milliseconds(300'000)) == "5m");
  CHECK(size_text(std::size_t{16} << 20U) == "16MiB");
  CHECK(duration_text(milliseconds(0)) == "0s");
  CHECK(size_text(1'000) == "1000");
  CHECK(dollars_text(2'500'000'000'000) == "2.5");
  CHECK(dollars_text(20'000'000'000'000) == "20");
  CHECK(dollars_text(1) == "0.000000000001");
  const bool holds = rc::check([] {
    const auto number = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000);
    RC_ASSERT(parse_duration(duration_text(milliseconds(number))) == milliseconds(number));
    const auto size = static_cast<std::size_t>(number);
    RC_ASSERT(parse_size(size_text(size)) == size);
    const auto amount = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000'001);
    RC_ASSERT(parse_dollars(dollars_text(amount)) == amount);
  });
  CHECK(holds);
}

}  // namespace
}  // namespace treaty::config
