#include "treaty/config/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>

#include "treaty/base/text.h"
#include "treaty/results/prices.h"

namespace treaty::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

constexpr std::array<Unit, 5> kDurations = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

constexpr std::array<Unit, 8> kSizes = {{{"GiB", std::int64_t{1} << 30},
                                         {"MiB", std::int64_t{1} << 20},
                                         {"KiB", std::int64_t{1} << 10},
                                         {"GB", 1'000'000'000},
                                         {"MB", 1'000'000},
                                         {"kB", 1'000},
                                         {"B", 1},
                                         {"", 1}}};

constexpr std::int64_t kDollar = 1'000'000'000'000;
constexpr std::size_t kDollarDecimals = 12;
constexpr std::int64_t kMostDollars = 1'000'000 * kDollar;

std::optional<std::int64_t> measure(std::string_view text, std::span<const Unit> units) {
  constexpr double kMost = 9e15;  // Doubles have all whole numbers up to there.
  text = trimmed(text);
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view name = trimmed({stop, static_cast<std::size_t>(end - stop)});
  const auto unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end()) return std::nullopt;
  const double measured = number * static_cast<double>(unit->factor);
  if (!(measured >= 0 && measured <= kMost)) return std::nullopt;
  return std::llround(measured);  // 1.001 is a bit less than that in binary.
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto milliseconds = measure(text, kDurations);
  if (!milliseconds) return std::nullopt;
  return std::chrono::milliseconds(*milliseconds);
}

std::optional<std::size_t> parse_size(std::string_view text) {
  const auto bytes = measure(text, kSizes);
  if (!bytes) return std::nullopt;
  return static_cast<std::size_t>(*bytes);
}

std::optional<std::int64_t> parse_dollars(std::string_view text) {
  return results::parse_fixed_point(trimmed(text), kDollarDecimals, kMostDollars);
}

std::string dollars_text(std::int64_t picodollars) {
  std::string text = fmt::format("{}.{:012}", picodollars / kDollar, picodollars % kDollar);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string duration_text(std::chrono::milliseconds time) {
  if (time.count() == 0) return "0s";
  // A day is 24h; only several of them are days.
  const std::span units = std::span(kDurations).subspan(time <= std::chrono::hours(24) ? 1 : 0);
  const auto unit =
      std::ranges::find_if(units, [&](const Unit& one) { return time.count() % one.factor == 0; });
  return fmt::format("{}{}", time.count() / unit->factor, unit->name);
}

std::string size_text(std::size_t bytes) {
  for (const auto& [name, factor] : std::span(kSizes).first(3)) {
    const auto size = static_cast<std::size_t>(factor);
    if (bytes % size == 0) return fmt::format("{}{}", bytes / size, name);
  }
  return std::to_string(bytes);
}

}  // namespace treaty::config
