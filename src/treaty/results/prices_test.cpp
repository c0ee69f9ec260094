#include "treaty/results/prices.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

using namespace treaty;
using namespace treaty::results;

namespace {

constexpr double kStart = 1'735'689'600;  // 2025-01-01T00:00:00Z
constexpr double kDay = 86'400;

PriceTable table(std::string_view yaml) {
  auto read = read_prices(yaml);
  REQUIRE(read);
  return std::move(*read);
}

// Where and what; empty when nothing is wrong.
std::string fault_of(const std::string& entry) {
  const auto read = read_prices("prices:\n  - " + entry + "\n");
  return read ? "" : read.error().where + " " + read.error().message;
}

}  // namespace

TEST_CASE("a price is in force from its day on, until the next one") {
  const PriceTable prices = table(
      "prices:\n"
      "  - {provider: p, models: [m, n], from: 2025-01-02, input: 2, output: 3}\n"
      "  - {provider: p, models: [m], from: 2025-01-01, input: 1, output: 3}\n");

  CHECK(prices.size() == 3);
  CHECK(!prices.find("p", "m", kStart - 1));
  CHECK(prices.find("p", "m", kStart)->input == 1'000'000);
  CHECK(prices.find("p", "m", kStart + kDay - 1)->input == 1'000'000);
  CHECK(prices.find("p", "m", kStart + kDay)->input == 2'000'000);
  CHECK(!prices.find("p", "n", kStart));
}

TEST_CASE("a model or a provider that is not in the table has no price") {
  const PriceTable prices =
      table("prices: [{provider: p, models: [m], from: 2025-01-01, input: 1, output: 1}]");

  CHECK(!prices.find("p", "m-2025", kStart));
  CHECK(!prices.find("p", "", kStart));
  CHECK(!prices.find("q", "m", kStart));
  CHECK(!prices.find("", "m", kStart));
  CHECK(!PriceTable().find("p", "m", kStart));
}

TEST_CASE("dollars per million tokens are exact in picodollars per token") {
  const PriceTable prices = table(
      "prices: [{provider: p, models: [m], from: 2025-01-01, input: 0.075, output: 18.75, "
      "cache_read: 0.000001, cache_write: 999999.999999}]");
  const Price price = prices.find("p", "m", kStart).value();

  CHECK(price.input == 75'000);
  CHECK(price.output == 18'750'000);
  CHECK(price.cache_read == 1);
  CHECK(price.cache_write == 999'999'999'999);
}

TEST_CASE("cached tokens are priced once, at their own price") {
  const Price price{
      .input = 3'000'000, .output = 15'000'000, .cache_read = 300'000, .cache_write = 3'750'000};

  const auto cost = cost_of(
      {.input_tokens = 130, .output_tokens = 5, .cache_read_tokens = 100, .cache_write_tokens = 20},
      price);

  CHECK(cost.input == doctest::Approx(10 * 3e-6));
  CHECK(cost.cache_read == doctest::Approx(100 * 0.3e-6));
  CHECK(cost.cache_write == doctest::Approx(20 * 3.75e-6));
  CHECK(cost.output == doctest::Approx(5 * 15e-6));
  CHECK(cost.total == 0.000210);
}

TEST_CASE("without a price of their own cached tokens cost what input costs") {
  const Price price{.input = 2'000'000, .output = 0};

  const auto cost =
      cost_of({.input_tokens = 10, .output_tokens = 7, .cache_read_tokens = 4}, price);

  CHECK(cost.total == 0.00002);
  CHECK(!cost.cache_write);
}

TEST_CASE("more cached tokens than input are not priced twice") {
  const Price price{.input = 1'000'000, .output = 0};

  CHECK(cost_of({.input_tokens = 10, .cache_read_tokens = 99, .cache_write_tokens = 99}, price)
            .total == 0.00001);
}

TEST_CASE("the sum is made of whole picodollars: no cent is lost on the way") {
  const Price tenth{.input = 100'000, .output = 200'000};

  CHECK(cost_of({.input_tokens = 1, .output_tokens = 1}, tenth).total == 3e-7);
  CHECK(cost_of({.input_tokens = 3'000'000, .output_tokens = 0}, tenth).total == 0.3);
}

TEST_CASE("absurd counts make an absurd but finite cost") {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const Price price{.input = 999'999'999'999, .output = 999'999'999'999};

  const auto cost = cost_of({.input_tokens = kMost, .output_tokens = kMost}, price);

  CHECK(cost.total.value() > 0);
  CHECK(cost.total.value() < 1e20);
}

TEST_CASE("the parts of a cost add up to its total") {
  CHECK(rc::check([] {
    const auto count = rc::gen::inRange<std::int64_t>(0, 1'000'000);
    const Price price{
        .input = *count, .output = *count, .cache_read = *count, .cache_write = *count};
    const contracts::UsageInfo usage{.input_tokens = *count,
                                     .output_tokens = *count,
                                     .cache_read_tokens = *count,
                                     .cache_write_tokens = *count};

    const auto cost = cost_of(usage, price);

    const double sum = *cost.input + *cost.output + *cost.cache_read + *cost.cache_write;
    RC_ASSERT(std::abs(sum - *cost.total) < 1e-9);
  }));
}

TEST_CASE("the built-in table is readable and has prices in force") {
  const PriceTable prices = table(built_in_prices());

  CHECK(prices.size() > 20);
  CHECK(prices.find("openai", "gpt-4o-mini", 1'767'225'600));
  CHECK(prices.find("anthropic", "claude-sonnet-4-5-20250929", 1'767'225'600));
}

TEST_CASE("every mistake in a price table is told with its place") {
  CHECK(fault_of("{provider: p, models: [m], from: 2025-01-01, input: 1, output: 1}") == "");
  CHECK(fault_of("[1]").starts_with("2:5 a price is a map"));
  CHECK(fault_of("{models: [m], from: 2025-01-01, input: 1, output: 1}")
            .starts_with("2:5 provider is missing"));
  CHECK(fault_of("{provider: p, from: 2025-01-01, input: 1, output: 1}").contains("models"));
  CHECK(fault_of("{provider: p, models: m, from: 2025-01-01, input: 1, output: 1}")
            .contains("models is not a list"));
  CHECK(fault_of("{provider: p, models: [[m]], from: 2025-01-01, input: 1, output: 1}")
            .starts_with("2:28 a model is a name"));
  CHECK(fault_of("{provider: p, models: [m], input: 1, output: 1}").contains("from is missing"));
  CHECK(fault_of("{provider: p, models: [m], from: 2025-02-30, input: 1, output: 1}")
            .starts_with("2:38 from is not a date"));
  CHECK(fault_of("{provider: p, models: [m], from: 2025-01-01, output: 1}")
            .contains("input is missing"));
  CHECK(fault_of("{provider: p, models: [m], from: 2025-01-01, input: 1}")
            .contains("output is missing"));
  CHECK(fault_of("{provider: p, models: [m], from: 2025-01-01, input: 1, output: 1, cached: 1}")
            .starts_with("2:71 a price has no key cached ("));
  CHECK(fault_of("{provider: p, modles: [m], from: 2025-01-01, input: 1, output: 1}")
            .contains("a price has no key modles (did you mean models?)"));
  CHECK(fault_of("{provider: true, models: [m], from: 2025-01-01, input: 1, output: 1}")
            .contains("provider is not a name"));
}

TEST_CASE("a price is a plain number of dollars, with at most six decimals") {
  for (const char* price :
       {"-1", "1e3", "\"1\"", "0.0000001", "1000000", "free", "[1]", "0x10", ".inf", "null"}) {
    CAPTURE(price);
    const std::string entry =
        std::string("{provider: p, models: [m], from: 2025-01-01, output: 1, input: ") + price +
        "}";
    CHECK(fault_of(entry).contains("dollars per million tokens"));
  }
}

TEST_CASE("what is no price table at all is refused") {
  for (const char* text :
       {"", "[]", "prices: {}", "price: []", "prices: [", "a: &a [*a]", "\xff"}) {
    CAPTURE(text);
    const auto read = read_prices(text);
    REQUIRE(!read);
    CHECK(!read.error().message.empty());
  }
}
