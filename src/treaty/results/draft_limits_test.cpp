#include "treaty/results/draft_limits.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

using namespace treaty::results;

namespace {

// `name r/q t` of every window; a dash where there is nothing.
std::string windows_of(std::string_view limit, std::string_view policy = {}) {
  std::string text;
  for (const DraftWindow& window : parse_draft_windows(limit, policy)) {
    const auto count = [](const auto& number) {
      return number ? std::to_string(number->whole()) : std::string("-");
    };
    text += fmt::format("{} {}/{} {};", window.name, count(window.remaining), count(window.limit),
                        window.resets_in ? std::to_string(*window.resets_in) : "-");
  }
  return text;
}

}  // namespace

TEST_CASE("a limit and its policy are one window") {
  CHECK(windows_of(R"("default";r=50;t=5)", R"("default";q=100;w=10)") == "default 50/100 5;");
}

TEST_CASE("several policies keep their order; a policy without a limit comes last") {
  CHECK(windows_of(R"("b";r=0;t=1, "d";r=900)", R"("x";q=7;w=1, "d";q=1000, "b";q=10)") ==
        "b 0/10 1;d 900/1000 -;x -/7 -;");
}

TEST_CASE("names may be tokens or strings with escapes, and parameters may stand in any order") {
  CHECK(windows_of(R"(burst ; t=3 ; r=2)") == "burst 2/- 3;");
  CHECK(windows_of(R"("a\"b";r=1)") == "a\"b 1/- -;");
}

TEST_CASE("other parameters are passed over") {
  CHECK(windows_of(R"("a";pk=:cHsdsRa894==:;x="y;r=9";flag;z=1.5;on=?1;r=1)") == "a 1/- -;");
}

TEST_CASE("what cannot be read ends the list, and what came before stays") {
  CHECK(windows_of(R"("a";r=1, ;r=2)") == "a 1/- -;");
  CHECK(windows_of(R"("a";r=1, "b)") == "a 1/- -;");
  CHECK(windows_of(R"("a";r=1 "b";r=2)") == "");
  CHECK(windows_of(R"("a";=1)") == "");
  CHECK(windows_of(R"("";r=1)") == "");
  CHECK(windows_of("  ") == "");
  CHECK(windows_of("limit=100, remaining=50") == "");
}

TEST_CASE("a name that is not UTF-8 is not a name") {
  CHECK(windows_of("\"\xff\";r=1") == "");
  CHECK(windows_of("\"\u00e9\";r=1") == "\u00e9 1/- -;");
}

TEST_CASE("negative numbers are not known, and too large ones end at int64") {
  CHECK(windows_of(R"("a";r=-1;q=5)") == "");
  CHECK(windows_of(R"("a";r=99999999999999999999)") == "a 9223372036854775807/- -;");
}

TEST_CASE("a reset is no longer than the longest duration") {
  CHECK(windows_of(R"("a";r=1;t=9223372036854775807)") == "a 1/- 1000000000000;");
}

TEST_CASE("the number of windows is bounded") {
  std::string limit;
  for (int i = 0; i < 1'000; ++i) limit += fmt::format("\"p{}\";r=1,", i);

  CHECK(parse_draft_windows(limit, limit).size() == 32);
}
