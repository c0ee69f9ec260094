#include "treaty/base/timestamp.h"

#include <doctest/doctest.h>

using namespace treaty;

TEST_CASE("RFC 3339 takes a date, a time and a zone") {
  for (const char* text : {"2025-11-24T14:22:45Z", "2025-11-24t14:22:45z",
                           "2024-02-29T23:59:60.123456+02:00", "2025-01-01T00:00:00-00:00"}) {
    CAPTURE(text);
    CHECK(timestamp_form(text) == TimestampForm::rfc3339);
  }
}

TEST_CASE("ISO 8601 has forms that RFC 3339 does not") {
  for (const char* text : {"2025-11-24T14:22Z", "2025-11-24T14:22:45,5Z", "2025-11-24T14:22:45+02",
                           "2025-11-24T14:22:45+0200"}) {
    CAPTURE(text);
    CHECK(timestamp_form(text) == TimestampForm::iso8601);
  }
}

TEST_CASE("a time without a zone is naive") {
  CHECK(timestamp_form("2025-11-24T14:22:45.5") == TimestampForm::naive);
}

TEST_CASE("what is not in the calendar or not a time is none") {
  for (const char* text :
       {"", "yesterday", "2025-11-24", "2025-02-30T00:00:00Z", "2025-11-24T25:00:00Z",
        "2025-11-24T14:60:00Z", "2025-11-24 14:22:45Z", "2025-11-24T14:22:45.Z",
        "2025-11-24T14:22:45+24:00", "2025-11-24T14:22:45Zx", "25-11-24T14:22:45Z"}) {
    CAPTURE(text);
    CHECK(timestamp_form(text) == TimestampForm::none);
  }
}

TEST_CASE("the time now is RFC 3339") {
  CHECK(timestamp_form(timestamp_now()) == TimestampForm::rfc3339);
}

TEST_CASE("a timestamp is so many seconds after 1970, wherever it was written") {
  CHECK(seconds_of_timestamp("2026-01-01T00:00:00Z") == 1767225600);
  CHECK(seconds_of_timestamp("2026-01-01T02:00:00+02:00") == 1767225600);
  CHECK(seconds_of_timestamp("2025-12-31T18:30:00-0530") == 1767225600);
  CHECK(seconds_of_timestamp("2026-01-01T00:00:00.5Z") == 1767225600.5);
  CHECK(seconds_of_timestamp("1969-12-31T23:59:59Z") == -1);
  CHECK(!seconds_of_timestamp("2026-01-01"));
}

TEST_CASE("the three forms of an HTTP date mean the same second") {
  CHECK(seconds_of_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  CHECK(seconds_of_http_date("Sunday, 06-Nov-94 08:49:37 GMT") == 784111777);
  CHECK(seconds_of_http_date("Sun Nov  6 08:49:37 1994") == 784111777);
  CHECK(http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
  for (const char* text : {"", "Sun", "Sun, 06 Nov 1994", "Sun, 31 Feb 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37 GMT x"}) {
    CAPTURE(text);
    CHECK(!seconds_of_http_date(text));
  }
}
