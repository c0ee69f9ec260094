#include "treaty/results/prices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/base/yaml.h"

extern "C" const char treaty_prices_begin[];
extern "C" const char treaty_prices_end[];

namespace treaty::results {
namespace {

__extension__ using Wide = __int128;

constexpr Picodollars kMostPicodollars = 1'000'000'000'000;  // Of a token.

auto key_of(const PriceEntry& entry) {
  return std::tuple(std::string_view(entry.provider), std::string_view(entry.model), entry.from);
}

Error fault(const yaml::Node& node, std::string message) {
  return {ErrorCode::not_a_document, std::move(message),
          std::to_string(node.line) + ":" + std::to_string(node.column)};
}

// Dollars per million tokens, at most six decimals: exactly so many 10^-12 dollars per token.
std::optional<Picodollars> parse_price(const yaml::Node& node) {
  if (node.kind != yaml::Kind::integer && node.kind != yaml::Kind::decimal) return std::nullopt;
  const std::size_t whole_digits = std::min(node.text.find('.'), node.text.size());
  if (whole_digits == 0 || whole_digits > 6) return std::nullopt;
  return parse_fixed_point(node.text, 6, kMostPicodollars);
}

std::expected<Price, Error> read_price(const yaml::Node& entry) {
  Price price;
  const auto required = [&](std::string_view name,
                            Picodollars& into) -> std::expected<void, Error> {
    const yaml::Node* node = entry.find(name);
    if (node == nullptr) return std::unexpected(fault(entry, std::string(name) + " is missing"));
    const auto amount = parse_price(*node);
    if (!amount) {
      return std::unexpected(
          fault(*node, std::string(name) + " is not dollars per million tokens, like 2.50"));
    }
    into = *amount;
    return {};
  };
  TREATY_TRY_VOID(required("input", price.input));
  TREATY_TRY_VOID(required("output", price.output));
  for (const auto& [name, into] :
       {std::pair{"cache_read", &price.cache_read}, {"cache_write", &price.cache_write}}) {
    if (entry.find(name) == nullptr) continue;
    Picodollars amount = 0;
    TREATY_TRY_VOID(required(name, amount));
    *into = amount;
  }
  return price;
}

std::expected<double, Error> read_date(const yaml::Node& entry) {
  const yaml::Node* from = entry.find("from");
  if (from == nullptr) return std::unexpected(fault(entry, "from is missing"));
  const auto at = seconds_of_timestamp(from->text + "T00:00:00Z");
  if (!at) return std::unexpected(fault(*from, "from is not a date like 2025-04-14"));
  return *at;
}

std::expected<void, Error> check_names(const yaml::Node& entry) {
  constexpr std::array<std::string_view, 7> kNames = {
      "provider", "models", "from", "input", "output", "cache_read", "cache_write"};
  for (const auto& [key, value] : entry.members) {
    if (std::ranges::find(kNames, key.text) == kNames.end()) {
      return std::unexpected(
          fault(key, "there is no member " + key.text +
                         "; a price has provider, models, from, input, output, cache_read, "
                         "cache_write"));
    }
  }
  return {};
}

std::expected<void, Error> read_entry(const yaml::Node& entry, std::vector<PriceEntry>& entries) {
  if (entry.kind != yaml::Kind::map) return std::unexpected(fault(entry, "a price is a map"));
  TREATY_TRY_VOID(check_names(entry));
  const yaml::Node* provider = entry.find("provider");
  if (provider == nullptr || provider->kind != yaml::Kind::string) {
    return std::unexpected(fault(entry, "provider is missing"));
  }
  const yaml::Node* models = entry.find("models");
  if (models == nullptr || models->kind != yaml::Kind::list) {
    return std::unexpected(fault(entry, "models is not a list of names"));
  }
  TREATY_TRY(const double from, read_date(entry));
  TREATY_TRY(const Price price, read_price(entry));
  for (const yaml::Node& model : models->items) {
    if (!model.is_scalar()) return std::unexpected(fault(model, "a model is a name"));
    entries.push_back(
        {.provider = provider->text, .model = model.text, .from = from, .price = price});
  }
  return {};
}

double dollars(Wide picodollars) { return static_cast<double>(picodollars) / 1e12; }

}  // namespace

std::optional<std::int64_t> parse_fixed_point(std::string_view text, std::size_t decimals,
                                              std::int64_t most) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view behind = text.substr(std::min(point + 1, text.size()));
  if (point + behind.size() == 0 || behind.size() > decimals) return std::nullopt;
  std::string digits(text.substr(0, point));
  digits.append(behind).append(decimals - behind.size(), '0');
  if (!std::ranges::all_of(digits, is_digit)) return std::nullopt;
  const auto amount = parse_number<std::int64_t>(digits);
  return amount && *amount <= most ? amount : std::nullopt;
}

PriceTable::PriceTable(std::vector<PriceEntry> entries) : entries_(std::move(entries)) {
  std::ranges::sort(entries_, {}, key_of);
}

std::optional<Price> PriceTable::find(std::string_view provider, std::string_view model,
                                      double at) const {
  const auto after =
      std::ranges::upper_bound(entries_, std::tuple(provider, model, at), {}, key_of);
  if (after == entries_.begin()) return std::nullopt;
  const PriceEntry& entry = *std::prev(after);
  if (entry.provider != provider || entry.model != model) return std::nullopt;
  return entry.price;
}

std::expected<PriceTable, Error> read_prices(std::string_view text) {
  TREATY_TRY(const auto root, yaml::read(text));
  const yaml::Node* prices = root.kind == yaml::Kind::map ? root.find("prices") : nullptr;
  if (prices == nullptr || prices->kind != yaml::Kind::list) {
    return std::unexpected(fault(root, "a price table is a map with a list `prices`"));
  }
  std::vector<PriceEntry> entries;
  for (const yaml::Node& entry : prices->items) {
    TREATY_TRY_VOID(read_entry(entry, entries));
  }
  return PriceTable(std::move(entries));
}

std::string_view built_in_prices() { return {treaty_prices_begin, treaty_prices_end}; }

contracts::CostInfo cost_of(const contracts::UsageInfo& usage, const Price& price) {
  const std::int64_t input = usage.input_tokens.value_or(0);
  const std::int64_t read = std::min(usage.cache_read_tokens.value_or(0), input);
  const std::int64_t write = std::min(usage.cache_write_tokens.value_or(0), input - read);
  const Wide fresh_cost = static_cast<Wide>(input - read - write) * price.input;
  const Wide output_cost = static_cast<Wide>(usage.output_tokens.value_or(0)) * price.output;
  const Wide read_cost = static_cast<Wide>(read) * price.cache_read.value_or(price.input);
  const Wide write_cost = static_cast<Wide>(write) * price.cache_write.value_or(price.input);
  contracts::CostInfo cost{.input = dollars(fresh_cost), .output = dollars(output_cost)};
  if (usage.cache_read_tokens) cost.cache_read = dollars(read_cost);
  if (usage.cache_write_tokens) cost.cache_write = dollars(write_cost);
  cost.total = dollars(fresh_cost + output_cost + read_cost + write_cost);
  return cost;
}

std::optional<double> dollars_of(const contracts::AgentResult& result) {
  if (!result.cost) return std::nullopt;
  if (const auto* total = std::get_if<double>(&*result.cost)) return *total;
  const auto& parts = std::get<contracts::CostInfo>(*result.cost);
  if (parts.total) return parts.total;
  return parts.input.value_or(0) + parts.output.value_or(0) + parts.cache_read.value_or(0) +
         parts.cache_write.value_or(0);
}

}  // namespace treaty::results
