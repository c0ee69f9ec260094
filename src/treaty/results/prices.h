// What models cost: a table with dates, ours or the user's. A model that is not in it has no price;
// nothing is guessed. Amounts are whole numbers of 10^-12 dollars.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/contracts/agent_result.h"

namespace treaty::results {

using Picodollars = std::int64_t;

// Per token.
struct Price {
  Picodollars input = 0;
  Picodollars output = 0;
  std::optional<Picodollars> cache_read{};   // The price of input where there is none.
  std::optional<Picodollars> cache_write{};  // Likewise.
};

struct PriceEntry {
  std::string provider;
  std::string model;
  double from = 0;  // Seconds since 1970.
  Price price{};
};

class PriceTable {
 public:
  PriceTable() = default;
  explicit PriceTable(std::vector<PriceEntry> entries);

  // The newest price of the model that was in force at that time.
  std::optional<Price> find(std::string_view provider, std::string_view model, double at) const;

  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<PriceEntry> entries_;  // By provider, model and time.
};

// Digits with at most `decimals` more behind a point, times 10^decimals: not a bit of what is
// written is lost. Nothing when it is more than `most`.
std::optional<std::int64_t> parse_fixed_point(std::string_view text, std::size_t decimals,
                                              std::int64_t most);

// Reads a prices.yaml. The error's `where` is "line:column".
std::expected<PriceTable, Error> read_prices(std::string_view yaml);

// The table that comes with the program.
std::string_view built_in_prices();

// Every token is priced once: cached ones at their own price, the rest of the input at its.
contracts::CostInfo cost_of(const contracts::UsageInfo& usage, const Price& price);

// What a result has cost: its total, else its parts together. Nothing when it does not say.
std::optional<double> dollars_of(const contracts::AgentResult& result);

}  // namespace treaty::results
