#include "treaty/results/reset_time.h"

#include <algorithm>
#include <array>
#include <utility>

#include "treaty/base/text.h"
#include "treaty/base/timestamp.h"

namespace treaty::results {
namespace {

__extension__ using Wide = __int128;

// A decimal number before its unit: digits, perhaps with a point among or around them.
struct Decimal {
  std::int64_t whole = 0;
  std::int64_t billionths = 0;
  bool more = false;  // Digits beyond the ninth that are not zero.
};

// Takes a number off the front of `text`. A point that no digit follows stays there, because it may
// end a sentence.
std::optional<Decimal> take_decimal(std::string_view& text) {
  Decimal number;
  std::size_t i = 0;
  std::size_t digits = 0;
  for (; i < text.size() && is_digit(text[i]); ++i, ++digits) {
    number.whole =
        std::min<std::int64_t>(number.whole * 10 + (text[i] - '0'), Duration::kLongest * 10'000);
  }
  const bool fraction = i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1]);
  if (fraction) {
    std::int64_t place = Duration::kNanoseconds / 10;
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++digits, place /= 10) {
      number.billionths += place * (text[i] - '0');
      number.more = number.more || (place == 0 && text[i] != '0');
    }
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(i);
  return number;
}

// Longer names stand before the shorter ones that begin them.
constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> kUnits = {{
    {"ms", 1'000'000},
    {"us", 1'000},
    {"\u00b5s", 1'000},  // The micro sign,
    {"\u03bcs", 1'000},  // and the Greek letter.
    {"ns", 1},
    {"d", 86'400 * Duration::kNanoseconds},
    {"h", 3'600 * Duration::kNanoseconds},
    {"m", 60 * Duration::kNanoseconds},
    {"s", Duration::kNanoseconds},
}};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kWords = {{
    {"millisecond", 1'000'000},
    {"second", Duration::kNanoseconds},
    {"minute", 60 * Duration::kNanoseconds},
    {"hour", 3'600 * Duration::kNanoseconds},
    {"day", 86'400 * Duration::kNanoseconds},
}};

template <std::size_t N>
std::optional<std::int64_t> take_unit(
    std::string_view& text, const std::array<std::pair<std::string_view, std::int64_t>, N>& units) {
  for (const auto& [name, nanoseconds] : units) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return nanoseconds;
  }
  return std::nullopt;
}

// In nanoseconds, rounded up.
Wide times(const Decimal& number, std::int64_t unit) {
  const Wide fraction = static_cast<Wide>(number.billionths) * unit;
  const bool rest = fraction % Duration::kNanoseconds != 0 || number.more;
  return static_cast<Wide>(number.whole) * unit + fraction / Duration::kNanoseconds +
         (rest ? 1 : 0);
}

Duration to_duration(Wide nanoseconds) {
  const Wide seconds = nanoseconds / Duration::kNanoseconds;
  if (seconds >= Duration::kLongest) return {.seconds = Duration::kLongest};
  return {.seconds = static_cast<std::int64_t>(seconds),
          .nanoseconds = static_cast<std::int64_t>(nanoseconds % Duration::kNanoseconds)};
}

// `1m26.4s` at the front of `text`; bounded, so that the sum cannot overflow.
std::optional<Duration> take_sum(std::string_view& text) {
  Wide sum = 0;
  bool any = false;
  for (int terms = 0; terms < 64; ++terms) {
    std::string_view rest = text;
    const auto number = take_decimal(rest);
    if (!number) break;
    const auto unit = take_unit(rest, kUnits);
    if (!unit) break;
    sum += times(*number, *unit);
    text = rest;
    any = true;
  }
  if (!any) return std::nullopt;
  return to_duration(sum);
}

std::optional<double> epoch_of(const Decimal& number) {
  constexpr std::int64_t kEpochSeconds = 1'000'000'000;
  constexpr std::int64_t kEpochMilliseconds = 1'000'000'000'000;
  const double value =
      static_cast<double>(number.whole) + static_cast<double>(number.billionths) / 1e9;
  if (value > static_cast<double>(kEpochMilliseconds)) return value / 1000;
  if (value > static_cast<double>(kEpochSeconds)) return value;
  return std::nullopt;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  text = trimmed(text);
  std::string_view rest = text;
  if (const auto number = take_decimal(rest); number && rest.empty()) {
    return to_duration(times(*number, Duration::kNanoseconds));
  }
  const auto sum = take_sum(text);
  if (!sum || !text.empty()) return std::nullopt;
  return sum;
}

std::optional<Duration> leading_duration(std::string_view text) {
  if (const auto sum = take_sum(text)) return sum;
  const auto number = take_decimal(text);
  if (!number) return std::nullopt;
  if (text.starts_with(' ')) text.remove_prefix(1);
  return to_duration(times(*number, take_unit(text, kWords).value_or(Duration::kNanoseconds)));
}

std::optional<ResetTime> parse_reset_time(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  std::string_view rest = text;
  if (const auto number = take_decimal(rest); number && rest.empty()) {
    if (const auto epoch = epoch_of(*number)) return ResetTime{.at = epoch};
  }
  if (const auto duration = parse_duration(text)) return ResetTime{.after = duration};
  if (const auto at = seconds_of_timestamp(text)) return ResetTime{.at = at};
  if (const auto at = seconds_of_http_date(text)) return ResetTime{.at = at};
  return std::nullopt;
}

}  // namespace treaty::results
