#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>

#include "treaty/api/answers.h"

namespace treaty::api {
namespace {

using dispatch::LimitLine;
using Lines = std::vector<LimitLine>;

const Lines kTwo = {
    {.name = "requests_per_minute", .quota = 60, .window = 60, .remaining = 0, .resets_in = 29.2},
    {.name = "tokens_per_day", .remaining = 12.9, .resets_in = 3'600}};

TEST_CASE("A limit tells what is left and when it is full again, its policy what it is") {
  CHECK(rate_limit_field(kTwo) ==
        R"("requests_per_minute";r=0;t=30, "tokens_per_day";r=12;t=3600)");
  CHECK(rate_limit_policy_field(kTwo) == R"("requests_per_minute";q=60;w=60)");
}

TEST_CASE("A window of unknown length is left out of the policy") {
  CHECK(rate_limit_policy_field(Lines{{.name = "x", .quota = 5}}) == R"("x";q=5)");
}

TEST_CASE("Names stay inside their quotes") {
  CHECK(rate_limit_field(Lines{{.name = "a\"b\\c\r\nx: é"}}) == R"("a\"b\\c??x: ??";r=0;t=0)");
}

TEST_CASE("A name comes once, and no more than eight of them") {
  Lines many(3, kTwo[0]);
  CHECK(rate_limit_field(many) == R"("requests_per_minute";r=0;t=30)");

  many.clear();
  for (int i = 0; i < 20; ++i) many.push_back({.name = std::to_string(i), .quota = 1});
  CHECK(std::ranges::count(rate_limit_field(many), ',') == 7);
  CHECK(std::ranges::count(rate_limit_policy_field(many), ',') == 7);
}

TEST_CASE("An answer without limits has no such headers") {
  http::Response response;

  add_limit_headers(response, {});
  CHECK(response.headers.find("ratelimit") == nullptr);
  CHECK(response.headers.find("ratelimit-policy") == nullptr);

  add_limit_headers(response, kTwo);
  CHECK(response.headers.get("ratelimit") == rate_limit_field(kTwo));
  CHECK(response.headers.get("ratelimit-policy") == rate_limit_policy_field(kTwo));
}

TEST_CASE("Whatever a provider says, both fields are lists of strings with whole numbers") {
  const std::string name = R"RE("(?:[ !#-\[\]-~]|\\["\\])*")RE";
  const std::string number = "[0-9]{1,15}";
  const std::regex field("(?:(?:^|, )" + name + ";r=" + number + ";t=" + number + ")+");
  const std::regex policy("(?:(?:^|, )" + name + ";q=" + number + "(?:;w=" + number + ")?)+");

  CHECK(rc::check([&](const std::vector<std::string>& names, double absurd) {
    const double infinite = std::numeric_limits<double>::infinity();
    Lines lines;
    for (const std::string& one : names) {
      const auto any = rc::gen::element(absurd, absurd * 1e18, infinite, -infinite, std::nan(""));
      lines.push_back({one, *any, *any, *any, *any});
    }
    RC_PRE(!lines.empty());
    RC_ASSERT(std::regex_match(rate_limit_field(lines), field));
    RC_ASSERT(std::regex_match(rate_limit_policy_field(lines), policy));
  }));
}

}  // namespace
}  // namespace treaty::api
