// Points in time as text: RFC 3339 and the wider ISO 8601 forms that deployed programs write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace treaty {

enum class TimestampForm {
  none,     // Not a date with a time.
  naive,    // A date with a time, but without a zone.
  iso8601,  // With a zone, in a form that ISO 8601 allows and RFC 3339 does not.
  rfc3339,  // With a zone, as RFC 3339 writes it.
};

// Also checks the calendar: 2025-02-30 is none.
TimestampForm timestamp_form(std::string_view text);

// Seconds since 1970 of a date with a time; without a zone it is UTC.
std::optional<double> seconds_of_timestamp(std::string_view text);

// Seconds since 1970 of an HTTP date, in any of the three forms of RFC 9110 §5.6.7; and the form
// that it prefers, "Thu, 01 Jan 2026 00:01:00 GMT".
std::optional<double> seconds_of_http_date(std::string_view text);
std::string http_date(std::int64_t seconds);

// The system clock's time in UTC with microseconds, as RFC 3339 writes it.
std::string timestamp_now();

// Milliseconds since 1970 as RFC 3339 writes them, in UTC: "2026-01-01T00:01:00.250Z".
std::string timestamp_of(std::int64_t milliseconds);

}  // namespace treaty
