// In which order the entries of a chain are asked, and which failure leads to which.
#include "treaty/dispatch/chain.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

namespace treaty::dispatch {
namespace {

double lowest() { return 0; }

std::string names_of(const std::vector<const Choice*>& order) {
  std::string names;
  for (const Choice* choice : order) names += choice->backend;
  return names;
}

// Evenly spread answers, so that weights are seen without chance.
std::function<double()> sweep(int steps) {
  return [at = 0, steps]() mutable { return (at++ % steps + 0.5) / steps; };
}

TEST_CASE("Lower preferences come first, wherever they stand") {
  const std::vector<Choice> chain = {{.backend = "c", .preference = 3},
                                     {.backend = "a", .preference = 1},
                                     {.backend = "b", .preference = 2}};

  CHECK(names_of(order_of(chain, lowest)) == "abc");
}

TEST_CASE("Without equals no dice are thrown") {
  const std::vector<Choice> chain = {{.backend = "a", .preference = 1},
                                     {.backend = "b", .preference = 2}};
  int throws = 0;

  order_of(chain, [&] { return ++throws, 0.5; });

  CHECK(throws == 0);
}

TEST_CASE("Equals are drawn as often as they weigh") {
  const std::vector<Choice> chain = {{.backend = "a", .preference = 1, .weight = 3},
                                     {.backend = "b", .preference = 1, .weight = 1}};
  const auto dice = sweep(100);
  std::map<std::string, int> firsts;

  for (int i = 0; i < 100; ++i) ++firsts[order_of(chain, dice).front()->backend];

  CHECK(firsts["a"] == 75);
  CHECK(firsts["b"] == 25);
}

TEST_CASE("Whatever the dice say, everybody is there once, by preference") {
  CHECK(rc::check([] {
    std::vector<Choice> chain(*rc::gen::inRange<std::size_t>(0, 7));
    for (Choice& choice : chain) {
      choice.preference = *rc::gen::inRange(1, 4);
      choice.weight = *rc::gen::element(1, 7, 1'000);
    }

    const auto order = order_of(chain, [] { return *rc::gen::inRange(0, 1'001) / 1'000.0; });

    RC_ASSERT(order.size() == chain.size());
    RC_ASSERT(std::ranges::is_sorted(order, {}, &Choice::preference));
    for (const Choice& choice : chain) RC_ASSERT(std::ranges::count(order, &choice) == 1);
  }));
}

TEST_CASE("An entry with conditions never comes first, but follows as its preference says") {
  const std::vector<Choice> chain = {{.backend = "long", .preference = 1, .on = {"context_length"}},
                                     {.backend = "a", .preference = 2},
                                     {.backend = "b", .preference = 3}};

  const auto order = order_of(chain, lowest);

  CHECK(names_of(order) == "alongb");
  CHECK(next_of(order, 1, "context_length") == 1);
  CHECK(next_of(order, 1, "server_error") == 2);
}

TEST_CASE("An entry with conditions can be reached, however equals are drawn") {
  const std::vector<Choice> chain = {{.backend = "long", .preference = 1, .on = {"context_length"}},
                                     {.backend = "a", .preference = 1}};

  CHECK(names_of(order_of(chain, [] { return 0.0; })) == "along");
  CHECK(names_of(order_of(chain, [] { return 0.99; })) == "along");
}

TEST_CASE("An entry takes every failure that is not the call's own fault") {
  const Choice usual{.backend = "a"};
  for (const char* code : {"rate_limit", "server_error", "timeout", "auth_error",
                           "model_unavailable", "budget_exhausted", ""}) {
    CHECK(takes(usual, code));
  }
  for (const char* code : {"context_length", "content_filter", "invalid_request"}) {
    CHECK(is_own_fault(code));
    CHECK(!takes(usual, code));
  }
}

TEST_CASE("An entry with conditions takes those failures and no others") {
  const Choice picky{.backend = "a", .on = {"context_length", "timeout"}};

  CHECK(takes(picky, "context_length"));
  CHECK(takes(picky, "timeout"));
  CHECK(!takes(picky, "server_error"));
}

TEST_CASE("The next of a chain is the first behind that takes the failure, if any does") {
  const std::vector<Choice> chain = {{.backend = "a", .preference = 1},
                                     {.backend = "b", .preference = 2, .on = {"context_length"}},
                                     {.backend = "c", .preference = 3}};
  const auto order = order_of(chain, lowest);

  CHECK(next_of(order, 1, "server_error") == 2);
  CHECK(next_of(order, 1, "context_length") == 1);
  CHECK(next_of(order, 2, "context_length") == std::nullopt);
  CHECK(next_of(order, 3, "server_error") == std::nullopt);
}

}  // namespace
}  // namespace treaty::dispatch
