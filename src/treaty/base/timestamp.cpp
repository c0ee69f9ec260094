#include "treaty/base/timestamp.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "treaty/base/text.h"

namespace treaty {
namespace {

// Takes pieces off the front of a text; each take leaves the text alone when it does not fit.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : rest_(text) {}

  bool empty() const { return rest_.empty(); }

  bool take(std::string_view any_of) {
    if (rest_.empty() || !any_of.contains(rest_.front())) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Exactly `count` digits.
  std::optional<int> number(std::size_t count) {
    if (rest_.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_digit(rest_[i])) return std::nullopt;
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }

  bool starts_with(char c) const { return rest_.starts_with(c); }

  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // One or more digits that stand behind a point.
  std::optional<double> fraction() {
    if (rest_.empty() || !is_digit(rest_.front())) return std::nullopt;
    double value = 0;
    for (double place = 0.1; !rest_.empty() && is_digit(rest_.front()); place /= 10) {
      value += place * (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

 private:
  std::string_view rest_;
};

// A timestamp taken apart. `form` says how much of the rest is there.
struct Parts {
  TimestampForm form = TimestampForm::none;
  std::chrono::sys_days date{};
  int seconds = 0;      // Since midnight.
  double fraction = 0;  // Of a second.
  int offset = 0;       // Of the zone from UTC, in seconds.
};

std::optional<std::chrono::sys_days> calendar_day(int year, unsigned month, unsigned day) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

bool take_date(Pieces& text, Parts& parts) {
  const auto year = text.number(4);
  if (!year || !text.take("-")) return false;
  const auto month = text.number(2);
  if (!month || !text.take("-")) return false;
  const auto day = text.number(2);
  if (!day) return false;
  const auto date = calendar_day(*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day));
  if (date) parts.date = *date;
  return date.has_value();
}

// Returns none when it is no time; rfc3339 or iso8601 by the form it has.
TimestampForm take_time(Pieces& text, Parts& parts) {
  const auto hour = text.number(2);
  if (!hour || *hour > 23 || !text.take(":")) return TimestampForm::none;
  const auto minute = text.number(2);
  if (!minute || *minute > 59) return TimestampForm::none;
  parts.seconds = *hour * 3600 + *minute * 60;
  if (!text.take(":")) return TimestampForm::iso8601;  // Seconds left out.
  const auto second = text.number(2);
  if (!second || *second > 60) return TimestampForm::none;  // 60: a leap second.
  parts.seconds += *second;
  const bool point = text.take(".");
  if (!point && !text.take(",")) return TimestampForm::rfc3339;
  const auto fraction = text.fraction();
  if (!fraction) return TimestampForm::none;
  parts.fraction = *fraction;
  return point ? TimestampForm::rfc3339 : TimestampForm::iso8601;
}

TimestampForm take_zone(Pieces& text, Parts& parts) {
  if (text.empty()) return TimestampForm::naive;
  if (text.take("Zz")) return TimestampForm::rfc3339;
  const bool west = text.starts_with('-');
  if (!text.take("+-")) return TimestampForm::none;
  const auto hours = text.number(2);
  if (!hours || *hours > 23) return TimestampForm::none;
  parts.offset = *hours * 3600 * (west ? -1 : 1);
  if (text.empty()) return TimestampForm::iso8601;  // +02
  const bool colon = text.take(":");
  const auto minutes = text.number(2);
  if (!minutes || *minutes > 59) return TimestampForm::none;
  parts.offset += *minutes * 60 * (west ? -1 : 1);
  return colon ? TimestampForm::rfc3339 : TimestampForm::iso8601;  // +02:00 or +0200
}

Parts take_apart(std::string_view text) {
  Parts parts;
  Pieces pieces(text);
  if (!take_date(pieces, parts) || !pieces.take("Tt")) return parts;
  const TimestampForm time = take_time(pieces, parts);
  if (time == TimestampForm::none) return parts;
  const TimestampForm zone = take_zone(pieces, parts);
  if (pieces.empty()) parts.form = zone == TimestampForm::rfc3339 ? time : zone;
  return parts;
}

double since_epoch(const Parts& parts) {
  const auto days = static_cast<std::int64_t>(parts.date.time_since_epoch().count());
  return static_cast<double>(days * 86'400 + parts.seconds - parts.offset) + parts.fraction;
}

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

std::optional<unsigned> take_month(Pieces& text) {
  for (unsigned i = 0; i < kMonths.size(); ++i) {
    if (text.take_word(kMonths[i])) return i + 1;
  }
  return std::nullopt;
}

bool take_day_name(Pieces& text) {
  return std::ranges::any_of(kDays, [&](std::string_view day) { return text.take_word(day); });
}

// A date that is written like `pattern`: n and N a day's name, short and long; d and e the day,
// with a zero or a space before a single digit; m the month; y and Y the year in two and four
// digits; t the time. Every other character stands for itself.
std::optional<double> date_like(std::string_view pattern, Pieces text) {
  std::optional<int> year;
  std::optional<unsigned> month;
  std::optional<int> day;
  Parts parts;
  const auto take = [&](char piece) {
    switch (piece) {
      case 'n': return take_day_name(text);
      case 'N': {
        const bool is_day = take_day_name(text);
        while (text.take("adeinorstuy")) continue;  // The rest of its name.
        return is_day;
      }
      case 'd': return (day = text.number(2)).has_value();
      case 'e': return (day = text.number(text.take(" ") ? 1 : 2)).has_value();
      case 'm': return (month = take_month(text)).has_value();
      case 'y':
        year = text.number(2);
        if (year) *year += *year < 70 ? 2000 : 1900;
        return year.has_value();
      case 'Y': return (year = text.number(4)).has_value();
      case 't': return take_time(text, parts) == TimestampForm::rfc3339;
      default: return text.take({&piece, 1});
    }
  };
  if (!std::ranges::all_of(pattern, take) || !text.empty()) return std::nullopt;
  const auto date = calendar_day(*year, *month, static_cast<unsigned>(*day));
  if (!date) return std::nullopt;
  parts.date = *date;
  return since_epoch(parts);
}

}  // namespace

TimestampForm timestamp_form(std::string_view text) { return take_apart(text).form; }

std::optional<double> seconds_of_timestamp(std::string_view text) {
  const Parts parts = take_apart(text);
  if (parts.form == TimestampForm::none) return std::nullopt;
  return since_epoch(parts);
}

std::optional<double> seconds_of_http_date(std::string_view text) {
  // "Thu, 01 Jan 2026 00:01:00 GMT", "Thursday, 01-Jan-26 00:01:00 GMT", "Thu Jan  1 00:01:00
  // 2026".
  for (const std::string_view pattern : {"n, d m Y t GMT", "N, d-m-y t GMT", "n m e t Y"}) {
    if (const auto date = date_like(pattern, Pieces(text))) return date;
  }
  return std::nullopt;
}

std::string http_date(std::int64_t seconds) {
  const auto day = static_cast<std::size_t>(((seconds / 86'400) % 7 + 7 + 4) % 7);  // 1970: Thu.
  const std::tm time = fmt::gmtime(static_cast<std::time_t>(seconds));
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[day], time.tm_mday,
                     kMonths[static_cast<std::size_t>(time.tm_mon)], time.tm_year + 1900,
                     time.tm_hour, time.tm_min, time.tm_sec);
}

std::string timestamp_now() {
  using std::chrono::floor;
  const auto now = floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto seconds = floor<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+00:00",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (now - seconds).count());
}

std::string timestamp_of(std::int64_t milliseconds) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds(milliseconds)};
  const auto seconds = floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds.time_since_epoch().count()),
                     (time - seconds).count());
}

}  // namespace treaty
