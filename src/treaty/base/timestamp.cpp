#include "treaty/base/timestamp.h"

#include <fmt/chrono.h>

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

  bool digits() {  // One or more.
    const std::size_t size = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(size);
    return size > 0;
  }

 private:
  std::string_view rest_;
};

bool take_date(Pieces& text) {
  const auto year = text.number(4);
  if (!year || !text.take("-")) return false;
  const auto month = text.number(2);
  if (!month || !text.take("-")) return false;
  const auto day = text.number(2);
  if (!day) return false;
  return std::chrono::year_month_day(std::chrono::year(*year),
                                     std::chrono::month(static_cast<unsigned>(*month)),
                                     std::chrono::day(static_cast<unsigned>(*day)))
      .ok();
}

// Returns none when it is no time; rfc3339 or iso8601 by the form it has.
TimestampForm take_time(Pieces& text) {
  const auto hour = text.number(2);
  if (!hour || *hour > 23 || !text.take(":")) return TimestampForm::none;
  const auto minute = text.number(2);
  if (!minute || *minute > 59) return TimestampForm::none;
  if (!text.take(":")) return TimestampForm::iso8601;  // Seconds left out.
  const auto second = text.number(2);
  if (!second || *second > 60) return TimestampForm::none;  // 60: a leap second.
  if (text.take(".")) return text.digits() ? TimestampForm::rfc3339 : TimestampForm::none;
  if (text.take(",")) return text.digits() ? TimestampForm::iso8601 : TimestampForm::none;
  return TimestampForm::rfc3339;
}

TimestampForm take_zone(Pieces& text) {
  if (text.empty()) return TimestampForm::naive;
  if (text.take("Zz")) return TimestampForm::rfc3339;
  if (!text.take("+-")) return TimestampForm::none;
  const auto hours = text.number(2);
  if (!hours || *hours > 23) return TimestampForm::none;
  if (text.empty()) return TimestampForm::iso8601;  // +02
  const bool colon = text.take(":");
  const auto minutes = text.number(2);
  if (!minutes || *minutes > 59) return TimestampForm::none;
  return colon ? TimestampForm::rfc3339 : TimestampForm::iso8601;  // +02:00 or +0200
}

}  // namespace

TimestampForm timestamp_form(std::string_view text) {
  Pieces pieces(text);
  if (!take_date(pieces) || !pieces.take("Tt")) return TimestampForm::none;
  const TimestampForm time = take_time(pieces);
  if (time == TimestampForm::none) return TimestampForm::none;
  const TimestampForm zone = take_zone(pieces);
  if (!pieces.empty()) return TimestampForm::none;
  return zone == TimestampForm::rfc3339 ? time : zone;
}

std::string timestamp_now() {
  using std::chrono::floor;
  const auto now = floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto seconds = floor<std::chrono::seconds>(now);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+00:00",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                     (now - seconds).count());
}

}  // namespace treaty
