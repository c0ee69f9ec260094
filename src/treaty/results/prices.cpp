#include "treaty/results/prices.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "treaty/base/files.h"
#include "treaty/base/pieces.h"
#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/base/yaml_reader.h"

TREATY_ASSET(treaty_prices);

namespace treaty::results {
namespace {

__extension__ using Wide = __int128;

constexpr Picodollars kMostPicodollars = 1'000'000'000'000;  // Of a token.

auto key_of(const PriceEntry& entry) {
  return std::tuple(std::string_view(entry.provider), std::string_view(entry.model), entry.from);
}

// A price as it is written: for several models.
struct WrittenPrice {
  PriceEntry entry{};
  std::vector<std::string> models{};
};

// Dollars per million tokens, at most six decimals: exactly so many 10^-12 dollars per token.
std::optional<Picodollars> parse_price(const yaml::Node& node) {
  if (node.kind != yaml::Kind::integer && node.kind != yaml::Kind::decimal) return std::nullopt;
  const std::size_t whole_digits = std::min(node.text.find('.'), node.text.size());
  if (whole_digits == 0 || whole_digits > 6) return std::nullopt;
  return parse_fixed_point(node.text, 6, kMostPicodollars);
}

template <auto Member>
void take_price(yaml::Reader& reader, const yaml::Node& node, WrittenPrice& price) {
  const auto amount = parse_price(node);
  if (!amount) return reader.note(node, "expected dollars per million tokens, like 2.50");
  price.entry.price.*Member = *amount;
}

void take_provider(yaml::Reader& reader, const yaml::Node& node, WrittenPrice& price) {
  if (node.kind != yaml::Kind::string || is_blank(node.text)) {
    return reader.note(node, "provider is not a name");
  }
  price.entry.provider = node.text;
}

void take_models(yaml::Reader& reader, const yaml::Node& node, WrittenPrice& price) {
  if (node.kind != yaml::Kind::list) return reader.note(node, "models is not a list of names");
  for (const yaml::Node& model : node.items) {
    if (!model.is_scalar()) return reader.note(model, "a model is a name");
    price.models.push_back(model.text);
  }
}

void take_date(yaml::Reader& reader, const yaml::Node& node, WrittenPrice& price) {
  const auto at = seconds_of_timestamp(node.text + "T00:00:00Z");
  if (!at) return reader.note(node, "from is not a date like 2025-04-14");
  price.entry.from = *at;
}

constexpr std::array<yaml::MemberReader<yaml::Reader, WrittenPrice>, 7> kMembers = {{
    {"provider", take_provider},
    {"models", take_models},
    {"from", take_date},
    {"input", take_price<&Price::input>},
    {"output", take_price<&Price::output>},
    {"cache_read", take_price<&Price::cache_read>},
    {"cache_write", take_price<&Price::cache_write>},
}};

void read_entry(yaml::Reader& reader, const yaml::Node& node, std::vector<PriceEntry>& entries) {
  if (node.kind != yaml::Kind::map) return reader.note(node, "a price is a map");
  WrittenPrice price;
  reader.members<WrittenPrice>(node, "a price", kMembers, price);
  if (reader.has_problems()) return;  // A key that is missing may be one that is misspelt.
  for (const std::string_view name : {"provider", "models", "from", "input", "output"}) {
    if (node.find(name) == nullptr) return reader.note(node, std::string(name) + " is missing");
  }
  for (std::string& model : price.models) {
    price.entry.model = std::move(model);
    entries.push_back(price.entry);
  }
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
  yaml::Reader reader;
  std::vector<PriceEntry> entries;
  const yaml::Node* prices = root.kind == yaml::Kind::map ? root.find("prices") : nullptr;
  if (prices == nullptr || prices->kind != yaml::Kind::list) {
    reader.note(root, "a price table is a map with a list `prices`");
  } else {
    for (const yaml::Node& entry : prices->items) read_entry(reader, entry, entries);
  }
  const auto problems = reader.take_problems();
  if (problems.empty()) return PriceTable(std::move(entries));
  const Diagnostic& first = problems.front();
  return std::unexpected(Error{ErrorCode::not_a_document,
                               text_of({.message = first.message, .hint = first.hint}),
                               std::to_string(first.line) + ":" + std::to_string(first.column)});
}

std::string_view built_in_prices() { return treaty_prices(); }

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
