#include <doctest/doctest.h>

#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using dispatch::Budget;
using testing::Given;
using testing::loaded;
using testing::problems_of;

constexpr std::string_view kKeyOfAcme =
    "keys: [{tenant: acme, sha256: "
    "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]\n";

// An agent on the demo with that budget.
Given with_budget(const std::string& budget) {
  return {.yaml = "agents:\n  default:\n    backends: [{scripted: demo}]\n    budget: " + budget};
}

Budget budget_of(const std::string& budget) {
  return loaded(with_budget(budget)).turns.agents.at("default").budget;
}

Given with_tenants(const std::string& tenants, std::string_view keys = kKeyOfAcme) {
  return {.yaml = std::string(keys) + "tenants: " + tenants};
}

// An agent on that backend of OpenAI, with this budget.
Given with_model(const std::string& model, const std::string& rest) {
  return {.yaml =
              "providers: {main: {kind: openai, key: k}}\nagents:\n  default:\n    backends: "
              "[{scripted: demo}, {provider: main, model: " +
              model + "}]\n" + rest};
}

TEST_CASE("A budget is tokens, dollars, or both, of a day") {
  CHECK(budget_of("{tokens_per_day: 1000000}") == Budget{.tokens = 1'000'000});
  CHECK(budget_of("{dollars_per_day: 2.50}") == Budget{.picodollars = 2'500'000'000'000});
  CHECK(budget_of("{dollars_per_day: 3, tokens_per_day: 1}") ==
        Budget{.tokens = 1, .picodollars = 3'000'000'000'000});
  CHECK(loaded({}).turns.agents.at("default").budget.is_empty());
}

TEST_CASE("A budget has bounds, and both ends are inside") {
  CHECK(budget_of("{tokens_per_day: 1000000000000000}").tokens == 1'000'000'000'000'000);
  CHECK(budget_of("{dollars_per_day: 1000000}").picodollars == 1'000'000'000'000'000'000);
  CHECK(budget_of("{dollars_per_day: 0.000000000001}").picodollars == 1);
  for (const char* wrong :
       {"{tokens_per_day: 0}", "{tokens_per_day: 1000000000000001}", "{tokens_per_day: 1.5}",
        "{tokens_per_day: -1}", "{tokens_per_day: many}", "{tokens_per_day: 1e300}"}) {
    CAPTURE(wrong);
    CHECK(problems_of(with_budget(wrong)) ==
          "treaty.yaml:4:30: expected a whole number, 1 to 1000000000000000\n");
  }
  for (const char* wrong :
       {"{dollars_per_day: 0}", "{dollars_per_day: 0.0}", "{dollars_per_day: -2.50}",
        "{dollars_per_day: 1000000.01}", "{dollars_per_day: 0.0000000000001}",
        "{dollars_per_day: 1e3}", "{dollars_per_day: .inf}", "{dollars_per_day: $5}",
        "{dollars_per_day: }", "{dollars_per_day: [1]}", "{dollars_per_day: \"2,50\"}"}) {
    CAPTURE(wrong);
    CHECK(problems_of(with_budget(wrong)).starts_with("treaty.yaml:4:"));
  }
  CHECK(
      problems_of(with_budget("{dollars_per_day: 0}")) ==
      "treaty.yaml:4:31: expected dollars, more than 0 and at most 1000000 (such as 2.50, with at "
      "most 12 decimals)\n");
}

TEST_CASE("A budget that limits nothing is a problem") {
  for (const char* empty : {"{}", ""}) {
    CAPTURE(empty);
    CHECK(problems_of(with_budget(empty))
              .contains("a budget needs `tokens_per_day` or `dollars_per_day`, or both (leave "
                        "`budget` out for none)"));
  }
  CHECK(problems_of(with_budget("5")) ==
        "treaty.yaml:4:13: expected a budget as a map, found a number\n");
  CHECK(problems_of(with_budget("{dollars: 5}")) ==
        "treaty.yaml:4:14: a budget has no key dollars (it may have tokens_per_day, "
        "dollars_per_day)\n");
  CHECK(problems_of(with_tenants("{acme: {}}")) ==
        "treaty.yaml:2:11: the tenant acme has no `budget` (such as {budget: {tokens_per_day: "
        "1000000}})\n");
  CHECK(problems_of(with_tenants("{acme: {budget: {}}}")).contains("2:26: a budget needs"));
}

TEST_CASE("A tenant has the budget of its name") {
  const auto budgets = loaded(with_tenants("{acme: {budget: {tokens_per_day: 7}}, local: {budget: "
                                           "{dollars_per_day: 0.5}}}"))
                           .turns.tenant_budgets;

  CHECK(budgets.size() == 2);
  CHECK(budgets.at("acme") == Budget{.tokens = 7});
  CHECK(budgets.at("local") == Budget{.picodollars = 500'000'000'000});
  CHECK(loaded({}).turns.tenant_budgets.empty());
}

TEST_CASE("A tenant whom no key names is a problem") {
  const std::string budget = ": {budget: {tokens_per_day: 7}}}";

  CHECK(problems_of(with_tenants("{acne" + budget)) ==
        "treaty.yaml:2:11: no key is of the tenant acne (did you mean acme?)\n");
  CHECK(problems_of(with_tenants("{elsewhere" + budget)) ==
        "treaty.yaml:2:11: no key is of the tenant elsewhere (there are keys of acme)\n");
  CHECK(problems_of(with_tenants("{acme" + budget, "")) ==
        "treaty.yaml:1:11: no key is of the tenant acme (there are no `keys`: everybody is the "
        "tenant local)\n");
  CHECK(problems_of(with_tenants("{local" + budget, "")) == "");
  CHECK(problems_of(with_tenants("[acme]")) ==
        "treaty.yaml:2:10: expected tenants as a map, found a list\n");
  CHECK(problems_of(with_tenants("{acme: 5}")) ==
        "treaty.yaml:2:17: expected a tenant as a map, found a number\n");
}

TEST_CASE("A tenant may be named by a variable of its key, which no message holds") {
  Given given =
      with_tenants("{acme: {budget: {tokens_per_day: 7}}}",
                   "keys: [{tenant: '${WHO}', sha256: "
                   "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}]\n");
  given.environment["WHO"] = "acme";
  CHECK(problems_of(given) == "");

  given.environment["WHO"] = "hunter2";
  CHECK(problems_of(given).contains("no key is of the tenant acme (there are keys of ${WHO})"));
}

TEST_CASE("A budget in dollars needs a price of every model that may be asked") {
  const std::string dollars = "    budget: {dollars_per_day: 1}\n";

  CHECK(problems_of(with_model("gpt-4o", dollars)) == "");
  CHECK(problems_of(with_model("own-tune", dollars)) ==
        "treaty.yaml:5:31: nobody knows what own-tune of main costs (add it to `prices` as a model "
        "of openai, or use tokens_per_day)\n");
  CHECK(problems_of(with_model("own-tune", "    budget: {tokens_per_day: 1}\n")) == "");
}

TEST_CASE("A price is one of the user's own table, too, from its day on") {
  Given given = with_model("own-tune", "    budget: {dollars_per_day: 1}\nprices: mine.yaml\n");
  const auto prices_from = [](const std::string& day) {
    return "prices: [{provider: openai, models: [own-tune], input: 1, output: 1, from: " + day +
           "}]";
  };

  given.files["/work/mine.yaml"] = prices_from("2025-01-01");
  CHECK(problems_of(given) == "");

  given.files["/work/mine.yaml"] = prices_from("2999-01-01");
  CHECK(problems_of(given).contains("nobody knows what own-tune of main costs"));

  given.files["/work/mine.yaml"] = "prices: 5";
  CHECK(problems_of(given).contains("the price table mine.yaml is not in order"));
  CHECK(!problems_of(given).contains("nobody knows"));
}

TEST_CASE("A budget in dollars of a tenant needs the prices of all agents") {
  const std::string tenants = "tenants: {local: {budget: {dollars_per_day: 1}}}\n";

  CHECK(problems_of(with_model("gpt-4o", tenants)) == "");
  CHECK(problems_of(with_model("own-tune", tenants)) ==
        "treaty.yaml:5:45: nobody knows what own-tune of main costs (add it to `prices` as a model "
        "of openai, or use tokens_per_day)\n");
}

TEST_CASE("A model without a price is told once a budget, and another agent's not at all") {
  const Given given{.yaml = R"(
providers: {main: {kind: openai, key: k}, own: {kind: ollama}}
agents:
  a:
    backends: [{provider: main, model: x}, {provider: main, model: x, temperature: 1}, {provider: own, model: y}]
    budget: {dollars_per_day: 1}
  b: {backends: [{provider: main, model: z}]}
)"};

  CHECK(problems_of(given) ==
        "treaty.yaml:6:31: nobody knows what x of main costs (add it to `prices` as a model of "
        "openai, or use tokens_per_day)\n"
        "treaty.yaml:6:31: nobody knows what y of own costs (add it to `prices` as a model of "
        "ollama, or use tokens_per_day)\n");
}

TEST_CASE("Scripts and bridges cost nothing") {
  CHECK(problems_of({.yaml = "agents: {a: {backends: [{scripted: demo}, {bridge: {dir: room}, "
                             "model: m}], budget: {dollars_per_day: 1}}}"}) == "");
}

TEST_CASE("The usual backend of an agent needs a price, too") {
  const std::string agent = "agents: {a: {budget: {dollars_per_day: 1}}}";

  CHECK(problems_of({.yaml = agent, .environment = {{"OPENAI_API_KEY", "k"}}}) == "");
  CHECK(problems_of({.yaml = agent, .environment = {{"TOGETHER_API_KEY", "k"}}})
            .contains("nobody knows what meta-llama/Llama-3.3-70B-Instruct-Turbo of together"));
  CHECK(problems_of({.yaml = agent}) == "");
}

TEST_CASE("A model that a variable names is not told") {
  Given given = with_model("'${MODEL}'", "    budget: {dollars_per_day: 1}\n");
  given.environment["MODEL"] = "hunter2";

  CHECK(problems_of(given).contains("nobody knows what ${MODEL} of main costs"));
  CHECK(!problems_of(given).contains("hunter2"));
}

}  // namespace
}  // namespace treaty::config
