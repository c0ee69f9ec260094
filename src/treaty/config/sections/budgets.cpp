#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "treaty/base/text.h"
#include "treaty/config/sections/sections.h"
#include "treaty/results/prices.h"

namespace treaty::config {
namespace {

using dispatch::Budget;
using yaml::Node;

// Of whoever needs no key, and of the commands that run turns themselves.
constexpr std::string_view kLocalTenant = "local";

constexpr std::int64_t kMostTokens = 1'000'000'000'000'000;

constexpr auto kBudgetMembers = std::to_array<ConfigMember<Budget>>({
    {"tokens_per_day", yaml::take_integer<1, kMostTokens, &Budget::tokens>},
    {"dollars_per_day", [](ConfigReader& reader, const Node& node,
                           Budget& budget) { budget.picodollars = reader.dollars(node); }},
});

struct Tenant {
  const Node* budget{};
};

constexpr auto kTenantMembers = std::to_array<ConfigMember<Tenant>>({
    {"budget", take_place<&Tenant::budget>},
});

void take_tenant(ConfigReader& reader, const Node& name, const Node& node, Draft& draft) {
  Tenant tenant;
  reader.members<Tenant>(node, "a tenant", kTenantMembers, tenant);
  draft.tenant_names.push_back(&name);
  if (tenant.budget == nullptr) {
    if (node.kind == yaml::Kind::map || node.kind == yaml::Kind::null) {
      reader.note(name, fmt::format("the tenant {} has no `budget`", name.text),
                  "such as {budget: {tokens_per_day: 1000000}}");
    }
    return;
  }
  draft.configuration.turns.tenant_budgets[name.text] =
      read_budget(reader, *tenant.budget, "", draft);
}

// As the file has them: a message never holds what a variable does.
std::vector<std::string_view> written_tenants(const Draft& draft) {
  std::vector<std::string_view> names;
  for (const Node& key : draft.keys->items) {
    const Node* tenant = key.kind == yaml::Kind::map ? key.find("tenant") : nullptr;
    if (tenant == nullptr || tenant->text.empty()) continue;
    if (std::ranges::count(names, tenant->text) == 0) names.emplace_back(tenant->text);
  }
  return names;
}

// Nobody would ever come in as a tenant whom no key names.
void settle_tenant(ConfigReader& reader, const Draft& draft, const Node& name) {
  const std::vector<AccessKey>& keys = draft.configuration.keys;
  const bool is_known = std::ranges::count(keys, name.text, &AccessKey::tenant) > 0;
  if (is_known || name.text == kLocalTenant) return;
  std::string hint = "there are no `keys`: everybody is the tenant local";
  if (!keys.empty()) {
    const std::vector<std::string_view> names = written_tenants(draft);
    const std::string_view meant = closest(names, name.text);
    hint = meant.empty() ? fmt::format("there are keys of {}", fmt::join(names, ", "))
                         : fmt::format("did you mean {}?", meant);
  }
  reader.note(name, fmt::format("no key is of the tenant {}", name.text), hint);
}

// The model of an entry as the file has it, for the same reason.
std::string_view written_model(const Draft& draft, const turns::Agent& agent, std::size_t index) {
  const auto reference =
      std::ranges::find_if(draft.references, [&](const ProviderReference& candidate) {
        return candidate.agent == agent.name && candidate.index == index;
      });
  if (reference == draft.references.end() || !reference->has_model) return agent.chain[index].model;
  return reference->entry->find("model")->text;
}

// Whom a call that is counted in dollars may ask without anybody knowing what that costs. Scripts
// and bridges cost nothing.
void settle_prices(ConfigReader& reader, const Draft& draft, const DollarBudget& budget,
                   const results::PriceTable& prices) {
  std::set<std::pair<std::string, std::string>> told;
  for (const auto& [name, agent] : draft.configuration.turns.agents) {
    if (!budget.agent.empty() && budget.agent != name) continue;
    for (std::size_t i = 0; i < agent.chain.size(); ++i) {
      const dispatch::Choice& choice = agent.chain[i];
      const auto* provider = draft.configuration.find_backend<HttpProvider>(choice.backend);
      if (provider == nullptr || choice.model.empty()) continue;
      const std::string& kind = provider->kind;
      if (kind.empty() || prices.find(kind, choice.model, reader.sources().now)) continue;
      if (!told.emplace(kind, choice.model).second) continue;
      reader.note(*budget.place,
                  fmt::format("nobody knows what {} of {} costs", written_model(draft, agent, i),
                              choice.backend),
                  fmt::format("add it to `prices` as a model of {}, or use tokens_per_day", kind));
    }
  }
}

}  // namespace

Budget read_budget(ConfigReader& reader, const Node& node, std::string_view agent, Draft& draft) {
  Budget budget;
  reader.members<Budget>(node, "a budget", kBudgetMembers, budget);
  const bool is_map = node.kind == yaml::Kind::map;
  if ((is_map && node.members.empty()) || node.kind == yaml::Kind::null) {
    reader.note(node, "a budget needs `tokens_per_day` or `dollars_per_day`, or both",
                "leave `budget` out for none");
  }
  if (budget.picodollars) {
    draft.dollar_budgets.push_back(
        {.agent = std::string(agent), .place = node.find("dollars_per_day")});
  }
  return budget;
}

void take_tenants(ConfigReader& reader, const Node& node, Draft& draft) {
  if (!reader.is_map(node, "tenants")) return;
  for (const auto& [name, value] : node.members) take_tenant(reader, name, value, draft);
}

void settle_budgets(ConfigReader& reader, const Draft& draft) {
  for (const Node* name : draft.tenant_names) settle_tenant(reader, draft, *name);
  if (draft.dollar_budgets.empty()) return;
  const Configuration& configuration = draft.configuration;
  const auto prices = results::read_prices(configuration.prices_file.empty()
                                               ? results::built_in_prices()
                                               : std::string_view(configuration.prices_text));
  if (!prices) return;  // It was noted where the file names it.
  for (const DollarBudget& budget : draft.dollar_budgets) {
    settle_prices(reader, draft, budget, *prices);
  }
}

void add_budget_keys(Keys& keys, const std::string& section) {
  add_keys(keys, section, kBudgetMembers);
}

void add_tenant_keys(Keys& keys) { add_keys(keys, "tenants.NAME.", kTenantMembers); }

}  // namespace treaty::config
